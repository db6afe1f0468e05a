/*
 * holdfast.h - the public door of libholdfast.
 *
 * libholdfast keeps connections to MCP servers alive for its clients and gives every request exactly
 * one truthful answer. It runs on the caller's thread and event loop: poll hf_fd(), wait at most
 * hf_timeout_ms(), call hf_step(). No function blocks. All types are opaque.
 */
#ifndef HOLDFAST_H
#define HOLDFAST_H

#ifdef __cplusplus
extern "C" {
#endif

#define HF_API __attribute__((visibility("default")))

HF_API const char *hf_version(void);

#ifdef __cplusplus
}
#endif

#endif
