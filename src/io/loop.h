/*
 * loop.h - one event loop: descriptors, alarms, signals, and the end of a turn.
 *
 * A turn is: wait, ready descriptors, signals, the alarms that are due, the turn hook. Of ready
 * descriptors and of due alarms it takes a portion (portion.h), in turns that follow one another
 * until each has had its callback: none has it twice before another had it once. Never blocks
 * except in hf_loop_step(loop, true); never changes the flags of a descriptor it watches (those of
 * an inherited stdin are shared with other processes); one thread per loop.
 *
 * 1. Every callback is called from inside hf_loop_step(), never from another call.
 * 2. Readiness is level-triggered: a callback that leaves bytes behind is called again next turn.
 * 3. A watch is freed before its descriptor is closed.
 */
#ifndef HF_IO_LOOP_H
#define HF_IO_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/list.h"
#include "base/now.h"
#include "base/timers.h"
#include "io/turn_times.h"

struct hf_loop;
struct hf_watch;

enum {
    HF_READABLE = 1,
    HF_WRITABLE = 2,
    HF_HUNG_UP = 4,  /* the other end is gone for good; may be watched for alone */
    HF_SENT_ALL = 8, /* a socket's other end will send no more; may be watched for alone */
};

typedef void hf_on_loop(void *context);
typedef void hf_on_ready(void *context, unsigned events);

struct hf_loop *hf_loop_new(void); /* NULL: errno says why */
void hf_loop_free(struct hf_loop *loop);

/* For a foreign loop: poll the descriptor for input with the timeout, then step without blocking.
 * Ask for the timeout anew after every call into the library. */
int hf_loop_fd(const struct hf_loop *loop);
int hf_loop_timeout_ms(struct hf_loop *loop); /* -1: none */
void hf_loop_step(struct hf_loop *loop, bool block);

/* Monotonic. The same during one turn, so that all events of a turn happen at one time. */
uint64_t hf_loop_now_ms(struct hf_loop *loop);
struct hf_now hf_loop_time(struct hf_loop *loop); /* with the time of day */
/* Sets a fake clock, for tests. Such a loop must not be stepped with `block`, since waiting uses
 * the system's clock. */
typedef struct hf_now hf_read_clock(void *context);
void hf_loop_set_clock(struct hf_loop *loop, hf_read_clock *read_clock, void *context);

/* An alarm is a member of its owner: `on_alarm` is called once, in the first turn whose now is
 * `at_ms` or later. Setting it again replaces the time; 0 clears it. Setting the same time costs
 * nothing. */
struct hf_alarm {
    struct hf_timer timer;
    struct hf_loop *loop;
    hf_on_loop *on_alarm;
    void *context;
};
void hf_alarm_init(struct hf_alarm *alarm, struct hf_loop *loop, hf_on_loop *on_alarm,
                   void *context);
void hf_alarm_set(struct hf_alarm *alarm, uint64_t at_ms);

/* Called at the end of every turn: the place to write what the turn collected. */
void hf_loop_on_turn(struct hf_loop *loop, hf_on_loop *on_turn, void *context);

/* From here on the CPU time of each turn is counted; see turn_times.h. */
void hf_loop_measure_turns(struct hf_loop *loop);
/* In this turn a message of so many bytes is taken from a peer, or sent to one. */
void hf_loop_note_message(struct hf_loop *loop, size_t bytes);
const struct hf_turn_times *hf_loop_turn_times(const struct hf_loop *loop); /* NULL: not measured */

/* Takes over the disposition of `signum` for the whole process: for a program, never for a library.
 * A signal that came several times before a turn is reported once. False: errno says why. */
bool hf_loop_on_signal(struct hf_loop *loop, int signum, hf_on_loop *on_signal, void *context);
/* Removes this loop's callbacks for `signum`; may be called from inside one of them. With the last
 * callback of the process the disposition from before is restored. hf_loop_free() does this for all
 * signals. */
void hf_loop_off_signal(struct hf_loop *loop, int signum);

/* A watch begins paused. A descriptor on which waiting makes no sense (regular file, /dev/null) is
 * ready in every turn. Errors and hang-ups are reported as all the events that are watched for: the
 * next read or write tells which. */
struct hf_watch *hf_watch_new(struct hf_loop *loop, int fd, hf_on_ready *on_ready, void *context);
void hf_watch_set(struct hf_watch *watch, unsigned events); /* 0 pauses */
void hf_watch_free(struct hf_watch *watch); /* also inside its own callback; NULL accepted */

/* Work that outlives the object that began it (a guard that is not reaped yet). The owner of the
 * loop steps until no guests are left before he frees it; guests that are left then are told. */
struct hf_guest {
    struct hf_link link;
    void (*on_loop_free)(struct hf_guest *guest); /* must call hf_loop_leave */
};
void hf_loop_enter(struct hf_loop *loop, struct hf_guest *guest);
void hf_loop_leave(struct hf_guest *guest);
bool hf_loop_has_guests(const struct hf_loop *loop);

#endif
