//go:build linux && (amd64 || arm64)

package sockets

// Offsets in a record of the programs.
const (
	recBegin    = 0
	recEnd      = 8
	recThread   = 16 // process << 32 | thread
	recFD       = 24
	recCall     = 28 // properties of the call
	recResult   = 32
	recInode    = 40
	recType     = 48 // of the socket
	recProtocol = 50
	recFlags    = 52 // of the message
	recLost     = 56 // records that were lost before
	recSequence = 60
	recOrigin   = 64
	recArrival  = 68 // 1: an arrival, which ends here
	recStreamed = 72 // 1: sequence and origin are known
	recFamily   = 76
	sizeArrival = 80
	recStart    = 80 // of the thread
	recName     = 88
	recAddress  = 104 // that a process passed: a sockaddr
	sizeAddress = 28
	recCommon   = 136 // begin of the kernel's struct sock_common
	maxCommon   = 96
	sizeRecord  = recCommon + maxCommon
)

// Properties of a call. The lowest byte is its name.
const (
	hasFD      = 1 << (8 + iota) // the first argument is a descriptor
	socketOnly                   // calls with other descriptors are left out
	fullEnter                    // the socket is read before the call
	fullExit                     // the socket is read after the call
	resultFD                     // the result is a descriptor
	address1                     // argument 1 is an address
	address4                     // argument 4 is an address
	flags2                       // argument 2 has flags of the message
	flags3                       // argument 3 has flags of the message
	namesMask  = 0xff
)

// maxCalls bounds the numbers of system calls.
const maxCalls = 512

// openCalls bounds the threads that are in a call, and sockets that are watched for arrivals.
const openCalls = 16 << 10
