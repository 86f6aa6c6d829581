//go:build !purego

#include "textflag.h"

// EIGHT compares pixels 8i to 8i+7 of a word and sets their bits in R9 where they do not differ.
#define EIGHT(i) \
	VMOVDQU (32*i)(SI), Y3; \
	VMOVDQU (32*i)(DX), Y4; \
	VPSUBUSB Y4, Y3, Y5; \
	VPSUBUSB Y3, Y4, Y6; \
	VPOR Y6, Y5, Y5; \
	VPSUBUSB Y1, Y5, Y5; \
	VPAND Y0, Y5, Y5; \
	VPCMPEQD Y2, Y5, Y5; \
	VMOVMSKPS Y5, R8; \
	SHLQ $(8*i), R8; \
	ORQ R8, R9

// func beyondAVX2(dst *uint64, a, b, next *byte, words int, seen uint64, tau byte)
//
// next is as long as a and only asked for.
//
// |a − b| of two bytes is the larger of both differences that saturate at 0, and what of it exceeds τ is what saturates again.
TEXT ·beyondAVX2(SB), NOSPLIT, $0-49
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ next+24(FP), R10
	MOVQ words+32(FP), CX
	VPBROADCASTQ seen+40(FP), Y0
	VPBROADCASTB tau+48(FP), Y1
	VPXOR Y2, Y2, Y2
	TESTQ CX, CX
	JLE done

word:
	XORQ R9, R9
	PREFETCHT0 (R10)
	PREFETCHT0 64(R10)
	PREFETCHT0 128(R10)
	PREFETCHT0 192(R10)
	ADDQ $256, R10
	EIGHT(0)
	EIGHT(1)
	EIGHT(2)
	EIGHT(3)
	EIGHT(4)
	EIGHT(5)
	EIGHT(6)
	EIGHT(7)
	NOTQ R9
	MOVQ R9, (DI)
	ADDQ $8, DI
	ADDQ $256, SI
	ADDQ $256, DX
	DECQ CX
	JNZ word

done:
	VZEROUPPER
	RET
