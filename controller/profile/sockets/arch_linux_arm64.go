package sockets

// oldCalls are those that newer architectures do not have.
func oldCalls() map[uint32]uint32 { return nil }

// registers are the offsets of arguments in struct pt_regs.
func registers() [6]int32 { return [6]int32{0, 8, 16, 24, 32, 40} }

// A process with 32-bit code has PSR_MODE32_BIT.
const (
	modeOffset = 264 // pstate
	modeMask   = 0x10
	modeWanted = 0
)
