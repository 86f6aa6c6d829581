package sockets

// Options of a recording.
type Options struct {
	Limit int64 // bytes of the file; 0: none
	Ring  int   // bytes of the ring, a power of two; 0: 8 MiB
}

// Info counts the records of a recording.
type Info struct {
	Begin, End int64
	Calls      int64
	Lost       int64
	Full       bool // the file has its greatest length, and further records are missing
	Arrivals   bool // the kernel reports when sockets get bytes
}

// MissingError is the reason for which socket calls cannot be recorded.
type MissingError struct {
	Why    string
	Repair string
	Kernel bool // the kernel cannot do it
}

func (e *MissingError) Error() string { return e.Why + "; " + e.Repair }
