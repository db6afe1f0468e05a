/* ring.c - see ring.h. */
#include "store/ring.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CALLER_ROOM = 48, SERVER_ROOM = 40, TOOL_ROOM = 64, EVIDENCE_ROOM = 12 };
enum { FREE, BEGUN, ENDED };

static const char magic[8] = "HFRING1";

struct header {
    char magic[8];
    uint32_t slot_size, slots;
    char unused[240];
};

struct begin_part { /* no padding: its bytes are summed up */
    uint64_t number, at_ms, generation;
    uint8_t arguments_hash[HF_SHA256_SIZE];
    uint8_t caller_n, server_n, tool_n, unused[5];
    char caller[CALLER_ROOM], server[SERVER_ROOM], tool[TOOL_ROOM];
};

struct end_part {
    uint64_t at_ms;
    int64_t code;
    uint8_t end, evidence_n, unused[2];
    char evidence[EVIDENCE_ROOM];
};

struct slot {
    struct begin_part begin;
    uint64_t begin_sum;
    struct end_part end;
    uint64_t end_sum; /* of the end and begin_sum: an end belongs to one mark */
    _Atomic uint32_t state;
    uint32_t unused;
};
_Static_assert(sizeof(struct begin_part) % 8 == 0 && sizeof(struct end_part) % 8 == 0, "words");
_Static_assert(sizeof(struct slot) == 272, "it is on disk");
_Static_assert(sizeof(struct header) == 256, "it is on disk");

enum { FILE_BYTES = sizeof(struct header) + HF_RING_SLOTS * sizeof(struct slot) };

struct hf_ring {
    struct slot *slots;
    struct header *header;
    uint32_t free[HF_RING_SLOTS]; /* a queue */
    uint32_t first_free, free_count;
    uint64_t unmarked;
};

/* Against accidents, not against malice: whoever can write the file can write anything. */
static uint64_t sum(const void *bytes, size_t size, uint64_t seed)
{
    uint64_t sum = seed ^ 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word;
        memcpy(&word, (const char *)bytes + i, 8);
        sum = (sum ^ word) * 0xff51afd7ed558ccdu;
        sum ^= sum >> 32;
    }
    return sum;
}

/* ---- writing ---- */

static bool take_room(int fd, struct hf_err *err)
{
    /* Room that is only promised would end the process with SIGBUS when the disk is full. */
    const int error = posix_fallocate(fd, 0, FILE_BYTES);
    return error == 0 ||
           hf_fail(err, "there is no room for the marks of calls: %s", strerror(error));
}

struct hf_ring *hf_ring_new(const char *path, struct hf_err *err)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        hf_fail(err, "the file for the marks of calls cannot be made: %s", strerror(errno));
        return NULL;
    }
    if (!take_room(fd, err)) {
        (void)unlink(path);
        close(fd);
        return NULL;
    }
    void *map = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) {
        hf_fail(err, "the file for the marks of calls cannot be mapped: %s", strerror(errno));
        (void)unlink(path);
        return NULL;
    }
    struct hf_ring *ring = hf_new(struct hf_ring);
    ring->header = map;
    ring->slots = (struct slot *)(void *)((char *)map + sizeof(struct header));
    *ring->header = (struct header) { .slot_size = sizeof(struct slot), .slots = HF_RING_SLOTS };
    memcpy(ring->header->magic, magic, sizeof magic);
    ring->free_count = HF_RING_SLOTS;
    for (uint32_t i = 0; i < HF_RING_SLOTS; i++)
        ring->free[i] = i;
    return ring;
}

void hf_ring_free(struct hf_ring *ring)
{
    if (!ring)
        return;
    (void)munmap(ring->header, FILE_BYTES);
    hf_free(ring);
}

/* How much of a text fits: no character is cut in two. */
static uint8_t fit(struct hf_span text, size_t room)
{
    size_t n = text.n < room ? text.n : room;
    while (n < text.n && n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n--;
    return (uint8_t)n;
}

static uint8_t put(char *to, size_t room, struct hf_span text)
{
    const uint8_t n = fit(text, room);
    if (n)
        memcpy(to, text.p, n);
    memset(to + n, 0, room - n);
    return n;
}

uint32_t hf_ring_begin(struct hf_ring *ring, const struct hf_mark *mark)
{
    if (!ring || ring->free_count == 0) {
        if (ring)
            ring->unmarked++;
        return HF_RING_NO_SLOT;
    }
    const uint32_t index = ring->free[ring->first_free];
    ring->first_free = (ring->first_free + 1) % HF_RING_SLOTS;
    ring->free_count--;
    struct slot *slot = &ring->slots[index];
    struct begin_part *begin = &slot->begin;
    /* What is written here stays behind the store that freed the slot. A fence for the compiler is
     * enough, here and below: whoever reads the ring does so when this process is gone, and a
     * process ends between two instructions. */
    atomic_signal_fence(memory_order_seq_cst);
    begin->number = mark->number;
    begin->at_ms = mark->at_ms;
    begin->generation = mark->generation;
    memcpy(begin->arguments_hash, mark->arguments_hash, sizeof begin->arguments_hash);
    begin->caller_n = put(begin->caller, CALLER_ROOM, mark->caller);
    begin->server_n = put(begin->server, SERVER_ROOM, mark->server);
    begin->tool_n = put(begin->tool, TOOL_ROOM, mark->tool);
    slot->begin_sum = sum(begin, sizeof *begin, 0);
    atomic_store_explicit(&slot->state, BEGUN, memory_order_release);
    return index;
}

void hf_ring_end(struct hf_ring *ring, uint32_t index, const struct hf_mark_end *end)
{
    if (index == HF_RING_NO_SLOT)
        return;
    struct slot *slot = &ring->slots[index];
    slot->end.at_ms = end->at_ms;
    slot->end.code = end->code;
    slot->end.end = (uint8_t)end->end;
    slot->end.evidence_n = put(slot->end.evidence, EVIDENCE_ROOM, end->evidence);
    slot->end_sum = sum(&slot->end, sizeof slot->end, slot->begin_sum);
    atomic_store_explicit(&slot->state, ENDED, memory_order_release);
}

void hf_ring_release(struct hf_ring *ring, uint32_t index)
{
    if (index == HF_RING_NO_SLOT)
        return;
    atomic_store_explicit(&ring->slots[index].state, FREE, memory_order_release);
    ring->free[(ring->first_free + ring->free_count++) % HF_RING_SLOTS] = index;
}

uint32_t hf_ring_in_use(const struct hf_ring *ring)
{
    return ring ? HF_RING_SLOTS - ring->free_count : 0;
}

uint64_t hf_ring_unmarked(const struct hf_ring *ring)
{
    return ring ? ring->unmarked : 0;
}

/* ---- reading ---- */

static bool read_begin(const struct slot *slot, struct hf_mark *ret_mark)
{
    const struct begin_part *begin = &slot->begin;
    if (slot->begin_sum != sum(begin, sizeof *begin, 0) || begin->caller_n > CALLER_ROOM ||
        begin->server_n > SERVER_ROOM || begin->tool_n > TOOL_ROOM || begin->number > INT64_MAX ||
        begin->at_ms > INT64_MAX || begin->generation > INT64_MAX)
        return false;
    *ret_mark = (struct hf_mark) {
        .number = begin->number,
        .at_ms = begin->at_ms,
        .generation = begin->generation,
        .caller = { begin->caller, begin->caller_n },
        .server = { begin->server, begin->server_n },
        .tool = { begin->tool, begin->tool_n },
    };
    memcpy(ret_mark->arguments_hash, begin->arguments_hash, sizeof begin->arguments_hash);
    return true;
}

/* An end that is torn is none: then nobody knows how the call ended. */
static bool read_end(const struct slot *slot, struct hf_mark_end *ret_end)
{
    const struct end_part *end = &slot->end;
    if (slot->end_sum != sum(end, sizeof *end, slot->begin_sum) ||
        end->evidence_n > EVIDENCE_ROOM || end->end == HF_CALL_END_OPEN ||
        end->end >= HF_CALL_END_COUNT || end->at_ms > INT64_MAX)
        return false;
    *ret_end = (struct hf_mark_end) { .at_ms = end->at_ms,
                                      .end = (enum hf_call_end)end->end,
                                      .code = end->code,
                                      .evidence = { end->evidence, end->evidence_n } };
    return true;
}

unsigned hf_ring_marks(struct hf_span file,
                       void (*on_mark)(void *context, const struct hf_mark_read *mark),
                       void *context)
{
    struct header header;
    unsigned torn = 0;
    if (file.n < sizeof header)
        return 0;
    memcpy(&header, file.p, sizeof header);
    if (memcmp(header.magic, magic, sizeof magic) != 0 || header.slot_size != sizeof(struct slot))
        return 0;
    size_t at = sizeof header;
    for (uint32_t i = 0; i < header.slots && file.n - at >= sizeof(struct slot);
         i++, at += sizeof(struct slot)) {
        struct slot slot;
        struct hf_mark_read read = { .has_end = false };
        memcpy(&slot, file.p + at, sizeof slot);
        const uint32_t state = atomic_load_explicit(&slot.state, memory_order_relaxed);
        if (state == FREE)
            continue;
        if (!read_begin(&slot, &read.mark)) {
            torn++;
            continue;
        }
        read.has_end = state == ENDED && read_end(&slot, &read.end);
        on_mark(context, &read);
    }
    return torn;
}

bool hf_ring_read(const char *path, struct hf_buf *ret_bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    struct hf_buf bytes;
    hf_buf_init(&bytes, FILE_BYTES);
    ssize_t n = 0;
    if (hf_buf_reserve(&bytes, FILE_BYTES))
        while ((n = read(fd, bytes.p + bytes.end, FILE_BYTES - bytes.end)) > 0)
            bytes.end += (size_t)n;
    close(fd);
    if (n < 0)
        hf_buf_done(&bytes);
    else
        *ret_bytes = bytes;
    return n >= 0;
}
