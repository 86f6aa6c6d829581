//go:build !purego

#include "textflag.h"

// func joinAVX2(dst, src *byte, quarter, groups int)
//
// One group is 16 bytes of each of the four channels.
TEXT ·joinAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ quarter+16(FP), BX
	MOVQ groups+24(FP), CX
	LEAQ (SI)(BX*2), DX

group:
	VMOVDQU (SI), X0
	VMOVDQU (SI)(BX*1), X1
	VMOVDQU (DX), X2
	VMOVDQU (DX)(BX*1), X3
	VPUNPCKLBW X1, X0, X4
	VPUNPCKHBW X1, X0, X5
	VPUNPCKLBW X3, X2, X6
	VPUNPCKHBW X3, X2, X7
	VPUNPCKLWD X6, X4, X0
	VPUNPCKHWD X6, X4, X1
	VPUNPCKLWD X7, X5, X2
	VPUNPCKHWD X7, X5, X3
	VMOVDQU X0, (DI)
	VMOVDQU X1, 16(DI)
	VMOVDQU X2, 32(DI)
	VMOVDQU X3, 48(DI)
	ADDQ $16, SI
	ADDQ $16, DX
	ADDQ $64, DI
	DECQ CX
	JNZ group
	RET

// The functions below restore groups of four pixels of four bytes each. X3 has the last pixel of the group before, X5 the
// pixels above, X4 the residuals. The lowest pixels of X0 to X3 become those of the group.

#define LOAD \
	VMOVDQU (DI), X4; \
	VMOVDQU (SI), X5

#define NEXT \
	VPSRLDQ $4, X4, X4; \
	VPSRLDQ $4, X5, X5

#define GATHER \
	VPUNPCKLDQ X1, X0, X8; \
	VPUNPCKLDQ X3, X2, X9

// func restoreLeftAVX2(row *byte, groups int)
TEXT ·restoreLeftAVX2(SB), NOSPLIT, $0-16
	MOVQ row+0(FP), DI
	MOVQ groups+8(FP), CX
	VMOVD -4(DI), X3
	VPSHUFD $0, X3, X3

group:
	VMOVDQU (DI), X4
	VPSLLDQ $4, X4, X5
	VPADDB X5, X4, X4
	VPSLLDQ $8, X4, X5
	VPADDB X5, X4, X4
	VPADDB X3, X4, X4
	VMOVDQU X4, (DI)
	VPSHUFD $0xff, X4, X3
	ADDQ $16, DI
	DECQ CX
	JNZ group
	RET

// Complements save a step: the rounded mean of ^a and ^b, minus r, is ^(r + (a+b)/2).
#define MEAN(a, x) \
	VPAVGB X5, a, x; \
	VPSUBB X4, x, x

#define MEANS \
	MEAN(X3, X0); \
	NEXT; \
	MEAN(X0, X1); \
	NEXT; \
	MEAN(X1, X2); \
	NEXT; \
	MEAN(X2, X3)

// func restoreMeanAVX2(row, up *byte, groups int)
TEXT ·restoreMeanAVX2(SB), NOSPLIT, $0-24
	MOVQ row+0(FP), DI
	MOVQ up+8(FP), SI
	MOVQ groups+16(FP), CX
	VPCMPEQB X15, X15, X15
	VMOVD -4(DI), X3
	VPXOR X15, X3, X3

group:
	LOAD
	VPXOR X15, X5, X5
	MEANS
	GATHER
	VPUNPCKLQDQ X9, X8, X8
	VPXOR X15, X8, X8
	VMOVDQU X8, (DI)
	ADDQ $16, DI
	ADDQ $16, SI
	DECQ CX
	JNZ group
	RET

// The same for the row below, a group behind: X13 has its last pixel, X14 the pixels above, X6 the residuals.
#define MEANBELOW(a, x) \
	VPAVGB X14, a, x; \
	VPSUBB X6, x, x

#define NEXTBELOW \
	VPSRLDQ $4, X6, X6; \
	VPSRLDQ $4, X14, X14

#define STOREBELOW \
	VPUNPCKLDQ X11, X10, X8; \
	VPUNPCKLDQ X13, X12, X9; \
	VPUNPCKLQDQ X9, X8, X8; \
	VPXOR X15, X8, X8; \
	VMOVDQU X8, (DX)

// func restoreMeanPairAVX2(row, up, below *byte, groups int)
//
// A pixel waits for the one to the left. So two rows at once take little longer than one.
TEXT ·restoreMeanPairAVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), DI
	MOVQ up+8(FP), SI
	MOVQ below+16(FP), DX
	MOVQ groups+24(FP), CX
	VPCMPEQB X15, X15, X15
	VMOVD -4(DI), X3
	VMOVD -4(DX), X13
	VPXOR X15, X3, X3
	VPXOR X15, X13, X13
	LOAD
	VPXOR X15, X5, X5
	MEANS
	JMP store

group:
	LOAD
	VMOVDQU (DX), X6
	VPXOR X15, X5, X5
	MEAN(X3, X0)
	MEANBELOW(X13, X10)
	NEXT
	NEXTBELOW
	MEAN(X0, X1)
	MEANBELOW(X10, X11)
	NEXT
	NEXTBELOW
	MEAN(X1, X2)
	MEANBELOW(X11, X12)
	NEXT
	NEXTBELOW
	MEAN(X2, X3)
	MEANBELOW(X12, X13)
	STOREBELOW
	ADDQ $16, DX

store:
	GATHER
	VPUNPCKLQDQ X9, X8, X14
	VPXOR X15, X14, X8
	VMOVDQU X8, (DI)
	ADDQ $16, DI
	ADDQ $16, SI
	DECQ CX
	JNZ group
	VMOVDQU (DX), X6
	MEANBELOW(X13, X10)
	NEXTBELOW
	MEANBELOW(X10, X11)
	NEXTBELOW
	MEANBELOW(X11, X12)
	NEXTBELOW
	MEANBELOW(X12, X13)
	STOREBELOW
	RET

// Of b−c and c−b, X6 and X7 have what is not negative. So a+X6−X7, saturated, is a+b−c within 0 and 255.
#define MEDIAN(a, x) \
	VPADDUSB X6, a, X10; \
	VPMINUB X5, a, X11; \
	VPMAXUB X5, a, X12; \
	VPSUBUSB X7, X10, X10; \
	VPMINUB X12, X10, X10; \
	VPMAXUB X11, X10, X10; \
	VPADDB X4, X10, x

#define NEXTDIFFERENCE \
	NEXT; \
	VPSRLDQ $4, X6, X6; \
	VPSRLDQ $4, X7, X7

// func restoreMedianAVX2(row, up *byte, groups int)
TEXT ·restoreMedianAVX2(SB), NOSPLIT, $0-24
	MOVQ row+0(FP), DI
	MOVQ up+8(FP), SI
	MOVQ groups+16(FP), CX
	VMOVD -4(DI), X3

group:
	LOAD
	VMOVDQU -4(SI), X8
	VPSUBUSB X8, X5, X6
	VPSUBUSB X5, X8, X7
	MEDIAN(X3, X0)
	NEXTDIFFERENCE
	MEDIAN(X0, X1)
	NEXTDIFFERENCE
	MEDIAN(X1, X2)
	NEXTDIFFERENCE
	MEDIAN(X2, X3)
	GATHER
	VPUNPCKLQDQ X9, X8, X8
	VMOVDQU X8, (DI)
	ADDQ $16, DI
	ADDQ $16, SI
	DECQ CX
	JNZ group
	RET
