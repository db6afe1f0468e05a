/*
 * server_name.h - the name of a server that has only a command line.
 *
 * `npx -y @scope/server-foo` is named server-foo and not npx: people look for that word in logs and
 * errors. For known launchers the arguments give the name; else it is the program's.
 */
#ifndef HF_OPS_SERVER_NAME_H
#define HF_OPS_SERVER_NAME_H

/* The name, which the caller owns: not empty, and not longer than a server's name may be. `argv`
 * ends in NULL, and its program is not empty. */
char *hf_server_name_of(char *const *argv);

#endif
