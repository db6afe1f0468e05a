/* test_state_dir.c - where things are kept between runs, and the log that is kept there. */
#include "ops/state_dir.h"
#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buf.h"
#include "ops/log_file.h"
#include "test.h"

static const char *row_env(const char *name, void *context)
{
    const char *const *pairs = context;
    for (; pairs[0]; pairs += 2)
        if (strcmp(pairs[0], name) == 0)
            return pairs[1];
    return NULL;
}

TEST(what_was_given_comes_before_the_environment_and_that_before_the_home)
{
    static const struct {
        const char *given, *env[8], *path;
    } rows[] = {
        { "/a", { "HOLDFAST_STATE_DIR", "/b", "HOME", "/h" }, "/a" },
        { NULL, { "HOLDFAST_STATE_DIR", "/b", "XDG_STATE_HOME", "/x" }, "/b" },
        { "", { "HOLDFAST_STATE_DIR", "/b" }, "/b" },
        { NULL, { "XDG_STATE_HOME", "/x", "HOME", "/h" }, "/x/holdfast" },
        { NULL, { "XDG_STATE_HOME", "x", "HOME", "/h" }, "/h/.local/state/holdfast" },
        { NULL, { "HOLDFAST_STATE_DIR", "", "HOME", "/h" }, "/h/.local/state/holdfast" },
        { NULL, { "HOME", "" }, NULL },
        { NULL, { NULL }, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[HF_STATE_PATH_SIZE] = "";
        struct hf_err err = { "" };
        const bool found =
            hf_state_dir_find(rows[i].given, row_env, (void *)(uintptr_t)rows[i].env, path, &err);
        CHECK(found == !!rows[i].path);
        CHECK(!found || strcmp(path, rows[i].path) == 0);
        CHECK(found || strstr(err.text, "there is no HOME"));
    }
}

/* ---- on a real disk ---- */

static char folder[] = "/tmp/hf-state-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static void remove_folder(void)
{
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* An empty one for each test. */
static void new_folder(void)
{
    remove_folder();
    (void)snprintf(folder, sizeof folder, "/tmp/hf-state-XXXXXX");
    REQUIRE(mkdtemp(folder));
    (void)atexit(remove_folder);
}

static const char *in(const char *name)
{
    static char path[2][256];
    static unsigned turn;
    char *room = path[turn++ % 2];
    (void)snprintf(room, sizeof path[0], "%s/%s", folder, name);
    return room;
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

TEST(the_directory_is_made_for_its_owner_alone_with_all_that_is_above_it)
{
    struct hf_err err = { "" };
    new_folder();
    char path[HF_STATE_PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/a/b/c", folder);
    CHECK(hf_state_dir_make(path, &err) && mode_of(path) == 0700);
    CHECK(hf_state_dir_make(path, &err)); /* a second time */
    CHECK(mode_of(in("a")) == 0700);
    CHECK(hf_state_dir_make(in("a/"), &err));

    FILE *file = fopen(in("file"), "w");
    REQUIRE(file && fclose(file) == 0);
    CHECK(!hf_state_dir_make(in("file"), &err) && strstr(err.text, "is not a directory"));
    CHECK(!hf_state_dir_make(in("file/x"), &err) && strstr(err.text, "Not a directory"));
    CHECK(!hf_state_dir_make("/proc/hf", &err) && strstr(err.text, "cannot be made"));
    if (geteuid() != 0)
        CHECK(!hf_state_dir_make("/", &err) && strstr(err.text, "belongs to another user"));

    CHECK(hf_state_dir_file("/d", "run", "../a b\n", "log", path, &err));
    CHECK(strcmp(path, "/d/run-_._a_b_.log") == 0);
    CHECK(hf_state_dir_file("/d", "stdio", NULL, "log", path, &err));
    CHECK(strcmp(path, "/d/stdio.log") == 0);
}

static size_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

/* Each line is `process number xxxx…`: whole, and in the order of its process. Returns how many. */
static size_t check_lines(const char *path)
{
    char line[300];
    unsigned last[4] = { 0 };
    size_t count = 0;
    FILE *file = fopen(path, "r");
    CHECK(file);
    while (file && fgets(line, sizeof line, file)) {
        unsigned process = 9, number = 0;
        const size_t n = strlen(line);
        CHECK(n > 100 && line[n - 1] == '\n' && strspn(line + n - 81, "x") == 80);
        CHECK(sscanf(line, "[%u] %u ", &process, &number) == 2 && process < 4);
        CHECK(process < 4 && number > last[process]);
        last[process % 4] = number;
        count++;
    }
    if (file)
        (void)fclose(file);
    return count;
}

static void write_lines(const char *path, unsigned process, unsigned lines)
{
    char first[16], second[128];
    struct hf_err err;
    struct hf_log_file *file = hf_log_file_open(path, &err);
    for (unsigned i = 1; file && i <= lines; i++) {
        const int n = snprintf(first, sizeof first, "[%u] ", process);
        int m = snprintf(second, sizeof second, "%u                         ", i);
        memset(second + m, 'x', 80);
        second[m + 80] = '\n';
        m += 81;
        hf_log_file_write(file, (struct hf_span) { first, (size_t)n },
                          (struct hf_span) { second, (size_t)m });
    }
    hf_log_file_close(file);
}

TEST(a_log_stays_small_and_the_newest_lines_stay)
{
    new_folder();
    const char *path = in("run-x.log"), *old = in("run-x.log.old");
    write_lines(path, 0, 40000);
    CHECK(size_of(path) <= HF_LOG_FILE_MAX && size_of(old) <= HF_LOG_FILE_MAX);
    CHECK(size_of(old) > HF_LOG_FILE_MAX - 300 && mode_of(path) == 0600 && mode_of(old) == 0600);
    CHECK(check_lines(path) + check_lines(old) > 8000);
}

TEST(several_processes_with_one_log_write_whole_lines_and_keep_it_small)
{
    new_folder();
    const char *path = in("run-x.log"), *old = in("run-x.log.old");
    pid_t pids[4];
    for (unsigned i = 0; i < 4; i++) {
        pids[i] = fork();
        REQUIRE(pids[i] >= 0);
        if (pids[i] == 0) {
            write_lines(path, i, 10000);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        int status = -1;
        CHECK(waitpid(pids[i], &status, 0) == pids[i] && status == 0);
    }
    /* Those who were just about to write when it was renamed still do: a line for each process. */
    CHECK(size_of(path) < HF_LOG_FILE_MAX + 1000 && size_of(old) < HF_LOG_FILE_MAX + 1000);
    CHECK(check_lines(path) + check_lines(old) > 4000);
}

TEST(a_log_that_was_taken_away_is_begun_again_and_a_link_is_not_followed)
{
    struct hf_err err = { "" };
    new_folder();
    const char *path = in("run-x.log"), *aim = in("aim");
    struct hf_log_file *file = hf_log_file_open(path, &err);
    REQUIRE(file);
    hf_log_file_write(file, HF_SPAN("a"), HF_SPAN("\n"));
    REQUIRE(unlink(path) == 0);
    hf_log_file_write(file, HF_SPAN("b"), HF_SPAN("\n"));
    CHECK(size_of(path) == 2);
    REQUIRE(unlink(path) == 0 && symlink(aim, path) == 0);
    hf_log_file_write(file, HF_SPAN("c"), HF_SPAN("\n"));
    CHECK(access(aim, F_OK) != 0);
    hf_log_file_close(file);
    CHECK(!hf_log_file_open(path, &err) && strstr(err.text, "the log \""));
    CHECK(!hf_log_file_open(in("none/x"), &err) && strstr(err.text, "No such file"));
    REQUIRE(mkfifo(in("pipe"), 0600) == 0);
    CHECK(!hf_log_file_open(in("pipe"), &err)); /* and does not wait for a reader */
}
