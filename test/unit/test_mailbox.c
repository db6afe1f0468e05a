/* test_mailbox.c - letters between real threads, a loop and a thread that waits. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include "io/loop.h"
#include "io/mailbox.h"
#include "test.h"

enum { SENDERS = 4, LETTERS = 5000, ROOM = 64 };

struct note {
    struct hf_letter letter; /* first */
    unsigned sender, number;
};

static struct note *note_of(struct hf_link *link)
{
    return HF_ITEM(link, struct note, letter.link);
}

static bool is_readable(const struct hf_mailbox *mailbox)
{
    struct pollfd ready = { .fd = hf_mailbox_fd(mailbox), .events = POLLIN };
    return poll(&ready, 1, 0) == 1;
}

static struct note *first_of(struct hf_link *letters)
{
    struct note *note = note_of(letters->next);
    hf_unlink(&note->letter.link);
    return note;
}

TEST(letters_come_in_order_and_the_descriptor_tells_whether_there_are_any)
{
    struct hf_mailbox *mailbox = hf_mailbox_new(ROOM);
    struct note notes[3] = { { .number = 0 }, { .number = 1 }, { .number = 2 } };
    struct hf_link letters;
    REQUIRE(mailbox);
    CHECK(!is_readable(mailbox) && !hf_mailbox_take(mailbox, &letters));
    CHECK(hf_list_empty(&letters));
    for (unsigned i = 0; i < 3; i++)
        CHECK(hf_mailbox_put(mailbox, &notes[i].letter) && is_readable(mailbox));
    CHECK(hf_mailbox_take(mailbox, &letters) && !is_readable(mailbox));
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ(first_of(&letters)->number, i);
    CHECK(hf_list_empty(&letters) && !hf_mailbox_take(mailbox, &letters));
    CHECK(hf_mailbox_put(mailbox, &notes[1].letter) && is_readable(mailbox));
    CHECK(hf_mailbox_take(mailbox, &letters) && first_of(&letters) == &notes[1]);
    hf_mailbox_free(mailbox);
}

TEST(a_full_one_takes_no_letter_until_some_were_taken_out)
{
    struct hf_mailbox *mailbox = hf_mailbox_new(2);
    struct note notes[3] = { { .number = 0 } };
    struct hf_link letters;
    REQUIRE(mailbox);
    CHECK(hf_mailbox_put(mailbox, &notes[0].letter) && hf_mailbox_put(mailbox, &notes[1].letter));
    CHECK(!hf_mailbox_put(mailbox, &notes[2].letter));
    CHECK(hf_mailbox_take(mailbox, &letters) && hf_mailbox_put(mailbox, &notes[2].letter));
    CHECK(first_of(&letters) == &notes[0] && first_of(&letters) == &notes[1]);
    CHECK(hf_list_empty(&letters));
    CHECK(hf_mailbox_take(mailbox, &letters) && first_of(&letters) == &notes[2]);
    hf_mailbox_free(mailbox);
}

TEST(a_closed_one_gives_what_it_has_takes_nothing_and_stays_readable)
{
    struct hf_mailbox *mailbox = hf_mailbox_new(2);
    struct note notes[2] = { { .number = 0 } };
    struct hf_link letters;
    REQUIRE(mailbox);
    CHECK(hf_mailbox_put(mailbox, &notes[0].letter) && !hf_mailbox_is_closed(mailbox));
    hf_mailbox_close(mailbox);
    hf_mailbox_close(mailbox);
    CHECK(hf_mailbox_is_closed(mailbox) && !hf_mailbox_put(mailbox, &notes[1].letter));
    CHECK(hf_mailbox_wait(mailbox, &letters) && first_of(&letters) == &notes[0]);
    CHECK(is_readable(mailbox) && !hf_mailbox_wait(mailbox, &letters));
    CHECK(hf_list_empty(&letters));
    hf_mailbox_free(mailbox);
    mailbox = hf_mailbox_new(2);
    REQUIRE(mailbox);
    hf_mailbox_close(mailbox); /* with nothing in it */
    CHECK(is_readable(mailbox) && !hf_mailbox_wait(mailbox, &letters));
    hf_mailbox_free(mailbox);
}

/* ---- many threads to a loop ---- */

struct office {
    struct hf_mailbox *mailbox;
    struct hf_loop *loop;
    sem_t room; /* so many letters fit */
    unsigned next[SENDERS], count;
    bool is_in_order;
};

struct sender {
    struct office *office;
    unsigned index;
    unsigned refused;
    struct note notes[LETTERS];
    pthread_t thread;
};

static void *send_all(void *context)
{
    struct sender *sender = context;
    for (unsigned i = 0; i < LETTERS; i++) {
        struct note *note = &sender->notes[i];
        *note = (struct note) { .sender = sender->index, .number = i };
        while (sem_wait(&sender->office->room) != 0)
            ;
        sender->refused += !hf_mailbox_put(sender->office->mailbox, &note->letter);
    }
    return NULL;
}

static void on_letters(void *context, unsigned events)
{
    struct office *office = context;
    struct hf_link letters;
    (void)events;
    (void)hf_mailbox_take(office->mailbox, &letters);
    while (!hf_list_empty(&letters)) {
        const struct note *note = first_of(&letters);
        office->is_in_order &= office->next[note->sender]++ == note->number;
        office->count++;
        (void)sem_post(&office->room);
    }
}

TEST(many_threads_write_to_one_loop_and_no_letter_is_lost_or_out_of_order)
{
    static struct sender senders[SENDERS];
    struct office office = { .mailbox = hf_mailbox_new(ROOM),
                             .loop = hf_loop_new(),
                             .is_in_order = true };
    REQUIRE(office.mailbox && office.loop && sem_init(&office.room, 0, ROOM) == 0);
    struct hf_watch *watch =
        hf_watch_new(office.loop, hf_mailbox_fd(office.mailbox), on_letters, &office);
    hf_watch_set(watch, HF_READABLE);
    for (unsigned i = 0; i < SENDERS; i++) {
        senders[i].office = &office;
        senders[i].index = i;
        REQUIRE_EQ(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
    }
    while (office.count < SENDERS * LETTERS)
        hf_loop_step(office.loop, true);
    for (unsigned i = 0; i < SENDERS; i++)
        CHECK(pthread_join(senders[i].thread, NULL) == 0 && senders[i].refused == 0);
    CHECK(office.is_in_order && office.count == SENDERS * LETTERS);
    hf_watch_free(watch);
    hf_loop_free(office.loop);
    hf_mailbox_free(office.mailbox);
    (void)sem_destroy(&office.room);
}

/* ---- a loop to a thread and back ---- */

struct worker {
    struct hf_mailbox *orders, *results;
    unsigned done;
};

static void *work(void *context)
{
    struct worker *worker = context;
    for (struct hf_link letters; hf_mailbox_wait(worker->orders, &letters);)
        while (!hf_list_empty(&letters)) {
            struct note *note = first_of(&letters);
            note->number *= 2;
            worker->done += hf_mailbox_put(worker->results, &note->letter);
        }
    hf_mailbox_close(worker->results);
    return NULL;
}

TEST(a_thread_that_waits_does_all_its_orders_and_ends_when_its_mailbox_is_closed)
{
    struct worker worker = { hf_mailbox_new(ROOM), hf_mailbox_new(ROOM), 0 };
    struct note notes[ROOM];
    struct hf_link letters;
    pthread_t thread;
    REQUIRE(worker.orders && worker.results);
    REQUIRE_EQ(pthread_create(&thread, NULL, work, &worker), 0);
    for (unsigned i = 0; i < ROOM; i++) {
        notes[i] = (struct note) { .number = i };
        CHECK(hf_mailbox_put(worker.orders, &notes[i].letter));
        if (i == ROOM / 2) /* the rest follows when it was heard of */
            CHECK(hf_mailbox_wait(worker.results, &letters) && first_of(&letters)->number == 0);
    }
    hf_mailbox_close(worker.orders);
    CHECK(pthread_join(thread, NULL) == 0 && worker.done == ROOM);
    for (unsigned i = 0; i < ROOM; i++)
        CHECK_EQ(notes[i].number, 2 * i);
    CHECK(hf_mailbox_is_closed(worker.results));
    hf_mailbox_free(worker.orders);
    hf_mailbox_free(worker.results);
}
