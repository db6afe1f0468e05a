/* test_server_name.c - what a server is called by its command line. */
#include "ops/server_name.h"
#include "base/mem.h"
#include "test.h"

enum { WORDS_MAX = 16 };

static const struct {
    const char *line, *name;
} rows[] = {
    { "npx -y @scope/server-foo", "server-foo" },
    { "npx @scope/server-foo@1.2.3 --port 5", "server-foo" },
    { "npx -y server-foo@latest /data", "server-foo" },
    { "npx --yes --package=@scope/tools foo", "tools" },
    { "npx -p @scope/tools foo", "tools" },
    { "npx -y github:user/server-foo#main", "server-foo" },
    { "npx -y", "npx" },
    { "npx", "npx" },
    { "npx -- @scope/foo", "foo" },
    { "/usr/bin/npx -y foo", "foo" },
    { "npm exec -y -- @scope/foo", "foo" },
    { "npm install", "npm" },
    { "pnpm dlx @scope/foo", "foo" },
    { "bunx @scope/foo", "foo" },
    { "bun x foo@2", "foo" },
    { "bun run src/weather.ts", "weather" },
    { "uvx mcp-server-time --local-timezone=UTC", "mcp-server-time" },
    { "uvx --from mcp-tools[cli]==1.0 serve", "mcp-tools" },
    { "uvx --python 3.12 mcp-server-git@latest", "mcp-server-git" },
    { "uvx --from git+https://host.test/user/foo.git serve", "foo" },
    { "uv run --directory /x/weather weather.py", "weather" },
    { "uv run -m weather.server", "weather" },
    { "uv sync", "uv" },
    { "pipx run --spec foo-tools==2 serve", "foo-tools" },
    { "pipx run foo-server", "foo-server" },
    { "pipx install foo", "pipx" },
    { "node path/to/weather.js", "weather" },
    { "node /x/weather/build/index.js", "weather" },
    { "node --env-file .env dist/index.mjs", "index" },
    { "node --inspect=0 server.js", "server" },
    { "node ./index.js", "index" },
    { "node", "node" },
    { "deno run -A weather.ts", "weather" },
    { "tsx src/time/server.ts", "time" },
    { "python -m mcp_server_time", "mcp_server_time" },
    { "python3 -m weather.server", "weather" },
    { "python3.12 -u -m weather", "weather" },
    { "python -W ignore path/weather.py", "weather" },
    { "python3 /x/weather/main.py", "weather" },
    { "python3 -", "python3" },
    { "python3 -c import_x", "python3" },
    { "node -e x.y()", "node" },
    { "python -m", "python" },
    { "pythonic x.py", "pythonic" },
    { "docker run -i --rm mcp/github", "github" },
    { "docker run -i --rm -e TOKEN ghcr.io/github/github-mcp-server:1.2", "github-mcp-server" },
    { "docker run --rm -v /a:/b --network=host reg:5000/foo@sha256:abc", "foo" },
    { "docker run --name wiki -i mcp/foo", "wiki" },
    { "docker run -p8080:80 -eA=1 -v/a:/b mcp/foo", "foo" },
    { "docker run --rm", "docker" },
    { "docker compose up", "docker" },
    { "podman run -it localhost/foo:latest", "foo" },
    { "java -jar target/weather-1.0.jar", "weather-1" },
    { "env A=1 -u B npx -y foo", "foo" },
    { "env", "env" },
    { "/opt/bin/ledger --file x", "ledger" },
    { "./server.py", "server.py" },
    { "x/", "x/" },
    { "sh -c x", "sh" },
};

static char *name_of(const char *line)
{
    char text[200], *words[WORDS_MAX + 1] = { NULL };
    size_t count = 0;
    (void)snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word && count < WORDS_MAX; word = strtok(NULL, " "))
        words[count++] = word;
    return hf_server_name_of(words);
}

TEST(a_server_is_called_by_what_its_launcher_starts)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *name = name_of(rows[i].line);
        if (strcmp(name, rows[i].name) != 0)
            printf("# %s: %s\n", rows[i].line, name);
        CHECK(strcmp(name, rows[i].name) == 0);
        hf_free(name);
    }
}

TEST(a_name_that_is_too_long_is_the_launchers_own)
{
    char package[200];
    memset(package, 'a', sizeof package - 1);
    package[sizeof package - 1] = '\0';
    char *words[] = { "npx", package, NULL };
    char *name = hf_server_name_of(words);
    CHECK(strcmp(name, "npx") == 0);
    hf_free(name);
    words[0] = package;
    name = hf_server_name_of(words);
    CHECK(strlen(name) == 128);
    hf_free(name);
}
