package frame

// Segment is a run of stored frames of one format.
type Segment struct {
	First, Frames        int // number of the first frame, and how many there are
	Layout               *Layout
	PeriodNum, PeriodDen int64 // nominal time from frame to frame, as a fraction of seconds; 0/0 unknown
	FemtoPeriod          int64 // fitted to the frames' times, in femtoseconds; 0 unknown
}

// Hole is a gap among stored frames and the number of the frame that it stands before.
type Hole struct {
	Before int
	Gap
}

// Step is one frame of a sequence, as an analysis takes it. It is valid until the sequence goes on.
type Step struct {
	Number int
	Meta   Meta
	// Change is how the frame differs from the one before it. In the first frame of a segment
	// everything is changed.
	Change *Change
	// Image and Previous are this frame and the previous one. Their Rows are nil if only changes
	// are read. Previous.Rows is also nil in the first frame of a segment.
	Image, Previous Image
	// Fill, where it is not nil, brings the rows of Image before the given one; the others may hold
	// anything until then. Rows of Previous are all there.
	Fill func(rows int) error
}
