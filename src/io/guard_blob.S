/* guard_blob.S - the bytes of holdfast-guard, from the file HF_GUARD_PATH, for guard_blob.c. */
#include "guard_path.h"
    .section .rodata
    .global hf_guard_blob_start
    .global hf_guard_blob_end
    .hidden hf_guard_blob_start
    .hidden hf_guard_blob_end
    .balign 16
hf_guard_blob_start:
    .incbin HF_GUARD_PATH
hf_guard_blob_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
