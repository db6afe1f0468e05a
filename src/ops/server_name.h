/*
 * server_name.h - what a server is called that has only a command line.
 *
 * `npx -y @scope/server-foo` is a server-foo and no npx: people look for that word in logs and
 * errors. A launcher that is known is looked through; everything else is called by its program.
 */
#ifndef HF_OPS_SERVER_NAME_H
#define HF_OPS_SERVER_NAME_H

/* The owned name, not empty and of a length that a server may have. `argv` ends in NULL and has a
 * program that is not empty. */
char *hf_server_name_of(char *const *argv);

#endif
