//go:build !purego

#include "textflag.h"

DATA inOrder<>+0(SB)/8, $0x0000000400000000
DATA inOrder<>+8(SB)/8, $0x0000000500000001
DATA inOrder<>+16(SB)/8, $0x0000000600000002
DATA inOrder<>+24(SB)/8, $0x0000000700000003
GLOBL inOrder<>(SB), RODATA|NOPTR, $32

// EIGHT makes the luma of pixels 8i to 8i+7, 32 bits each.
#define EIGHT(i, to) \
	VMOVDQU (32*i)(SI), to; \
	VPSRLW $8, to, Y4; \
	VPAND Y13, to, to; \
	VPMADDWD Y14, to, to; \
	VPMADDWD Y15, Y4, Y4; \
	VPADDD Y4, to, to; \
	VPADDD Y12, to, to; \
	VPSRLD $8, to, to

// func lumaAVX2(dst, row *byte, groups int, outer, inner uint32)
//
// A group is 32 pixels of 4 bytes. outer has the weights of bytes 0 and 2 of a pixel, inner has that of byte 1.
TEXT ·lumaAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ row+8(FP), SI
	MOVQ groups+16(FP), CX
	MOVL outer+24(FP), AX
	MOVL inner+28(FP), BX
	VMOVD AX, X14
	VMOVD BX, X15
	VPBROADCASTD X14, Y14
	VPBROADCASTD X15, Y15
	VMOVDQU inOrder<>(SB), Y11
	VPCMPEQD Y13, Y13, Y13
	VPSRLD $31, Y13, Y12
	VPSLLD $7, Y12, Y12
	VPSRLW $8, Y13, Y13

group:
	EIGHT(0, Y0)
	EIGHT(1, Y1)
	EIGHT(2, Y2)
	EIGHT(3, Y3)
	VPACKUSDW Y1, Y0, Y0
	VPACKUSDW Y3, Y2, Y2
	VPACKUSWB Y2, Y0, Y0
	VPERMD Y0, Y11, Y0
	VMOVDQU Y0, (DI)
	ADDQ $128, SI
	ADDQ $32, DI
	DECQ CX
	JNZ group
	VZEROUPPER
	RET

// TURN replaces columns 2i and 2i+1 of two rows by their sum and difference, after the lower one was turned.
#define TURN(i) \
	VMOVUPD (32*i)(DX), Y2; \
	VMOVUPD (32*i)(SI), Y3; \
	VPERMILPD $5, Y2, Y4; \
	VMULPD Y0, Y2, Y2; \
	VMULPD Y1, Y4, Y4; \
	VADDSUBPD Y4, Y2, Y2; \
	VADDPD Y2, Y3, Y4; \
	VSUBPD Y2, Y3, Y3; \
	VMOVUPD Y4, (32*i)(SI); \
	VMOVUPD Y3, (32*i)(DX)

// func stageAVX2(data, turns *complex128, rows, half int)
//
// Rows have eight columns: 128 bytes.
TEXT ·stageAVX2(SB), NOSPLIT, $0-32
	MOVQ data+0(FP), DI
	MOVQ turns+8(FP), R8
	MOVQ rows+16(FP), R9
	MOVQ half+24(FP), R10
	MOVQ R9, AX           // rows / half / 2: how far apart the turns are
	XORQ DX, DX
	DIVQ R10
	SHRQ $1, AX
	MOVQ AX, R13          // and how many pairs a turn has
	SHLQ $4, AX
	SHLQ $7, R10          // bytes
	MOVQ R10, R12
	SHLQ $1, R12
	MOVQ half+24(FP), CX

turn:
	VBROADCASTSD (R8), Y0
	VBROADCASTSD 8(R8), Y1
	MOVQ DI, SI
	MOVQ R13, R11

pair:
	LEAQ (SI)(R10*1), DX
	TURN(0)
	TURN(1)
	TURN(2)
	TURN(3)
	ADDQ R12, SI
	DECQ R11
	JNZ pair
	ADDQ AX, R8
	ADDQ $128, DI
	DECQ CX
	JNZ turn
	VZEROUPPER
	RET

DATA bitOf<>+0(SB)/8, $0x8040201008040201
GLOBL bitOf<>(SB), RODATA|NOPTR, $8

DATA byteOf<>+0(SB)/8, $0x0000000000000000
DATA byteOf<>+8(SB)/8, $0x0101010101010101
DATA byteOf<>+16(SB)/8, $0x0202020202020202
DATA byteOf<>+24(SB)/8, $0x0303030303030303
GLOBL byteOf<>(SB), RODATA|NOPTR, $32

DATA ones<>+0(SB)/8, $0x0001000100010001
DATA ones<>+8(SB)/8, $0x0001000100010001
DATA ones<>+16(SB)/8, $0x0001000100010001
DATA ones<>+24(SB)/8, $0x0001000100010001
GLOBL ones<>(SB), RODATA|NOPTR, $32

// APART sets d to |a - b|. It changes Y7.
#define APART(a, b, d) \
	VPSUBUSB b, a, d; \
	VPSUBUSB a, b, Y7; \
	VPOR Y7, d, d

// STEPS adds |(a - b) - (a' - b')| of 16 pixels, where a' and b' are their left neighbours.
#define STEPS(at, b, sum) \
	VPMOVZXBW at(b), Y2; \
	VPMOVZXBW (at-1)(b), Y3; \
	VPSUBW Y2, Y0, Y4; \
	VPSUBW Y3, Y1, Y5; \
	VPSUBW Y5, Y4, Y4; \
	VPABSW Y4, Y4; \
	VPAND Y8, Y4, Y4; \
	VPMADDWD ones<>(SB), Y4, Y4; \
	VPADDD Y4, sum, sum

#define SIXTEEN(at) \
	VPMOVZXBW at(SI), Y0; \
	VPMOVZXBW (at-1)(SI), Y1; \
	VPMOVSXBW X9, Y8; \
	STEPS(at, DX, Y12); \
	STEPS(at, R8, Y13)

// HALF takes 32 pixels, whose bits are in R9.
#define HALF(at) \
	VMOVD R9, X9; \
	VPBROADCASTD X9, Y9; \
	VPSHUFB byteOf<>(SB), Y9, Y9; \
	VPBROADCASTQ bitOf<>(SB), Y8; \
	VPAND Y8, Y9, Y9; \
	VPCMPEQB Y8, Y9, Y9; \
	VMOVDQU at(SI), Y0; \
	VMOVDQU (at-1)(SI), Y1; \
	VMOVDQU at(DX), Y2; \
	VMOVDQU (at-1)(DX), Y3; \
	VMOVDQU at(R8), Y4; \
	APART(Y0, Y2, Y5); \
	VPAND Y9, Y5, Y6; \
	VPSADBW Y14, Y6, Y6; \
	VPADDQ Y6, Y10, Y10; \
	APART(Y0, Y4, Y6); \
	VPAND Y9, Y6, Y6; \
	VPSADBW Y14, Y6, Y6; \
	VPADDQ Y6, Y11, Y11; \
	APART(Y0, Y1, Y6); \
	VPSUBUSB Y15, Y6, Y6; \
	VPCMPEQB Y14, Y6, Y6; \
	VPANDN Y9, Y6, Y8; \
	VPMOVMSKB Y8, AX; \
	POPCNTL AX, AX; \
	ADDQ AX, R12; \
	APART(Y1, Y3, Y6); \
	VPMAXUB Y6, Y5, Y5; \
	VPSUBUSB Y15, Y5, Y5; \
	VPCMPEQB Y14, Y5, Y5; \
	VPAND Y8, Y5, Y5; \
	VPMOVMSKB Y5, AX; \
	POPCNTL AX, AX; \
	ADDQ AX, R13; \
	SIXTEEN(at); \
	VEXTRACTI128 $1, Y9, X9; \
	SIXTEEN(at+16)

// func checkAVX2(sums *checkSums, luma, old, same *byte, bits *uint64, words int, tau byte)
TEXT ·checkAVX2(SB), NOSPLIT, $0-49
	MOVQ sums+0(FP), DI
	MOVQ luma+8(FP), SI
	MOVQ old+16(FP), DX
	MOVQ same+24(FP), R8
	MOVQ bits+32(FP), BX
	MOVQ words+40(FP), CX
	MOVBLZX tau+48(FP), AX
	VMOVD AX, X15
	VPBROADCASTB X15, Y15
	VPXOR Y14, Y14, Y14
	VMOVDQU (DI), Y10
	VMOVDQU 32(DI), Y11
	VMOVDQU 64(DI), Y12
	VMOVDQU 96(DI), Y13
	MOVQ 128(DI), R12
	MOVQ 136(DI), R13

word:
	MOVQ (BX), R9
	TESTQ R9, R9
	JZ next
	HALF(0)
	MOVQ (BX), R9
	SHRQ $32, R9
	HALF(32)

next:
	ADDQ $8, BX
	ADDQ $64, SI
	ADDQ $64, DX
	ADDQ $64, R8
	DECQ CX
	JNZ word
	VMOVDQU Y10, (DI)
	VMOVDQU Y11, 32(DI)
	VMOVDQU Y12, 64(DI)
	VMOVDQU Y13, 96(DI)
	MOVQ R12, 128(DI)
	MOVQ R13, 136(DI)
	VZEROUPPER
	RET
