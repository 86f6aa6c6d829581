package frame

import (
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Flags mark unusual properties of a frame.
type Flags uint8

const (
	// FlagError marks a frame that the source delivered as damaged.
	FlagError Flags = 1 << iota
	// FlagGapBefore marks a frame whose predecessor is missing: a gap record stands before it.
	FlagGapBefore
	// FlagSignalLost marks a frame that was delivered while the source had no signal.
	FlagSignalLost
)

func (f Flags) String() string {
	var names []string
	for i, name := range []string{"error", "gap-before", "signal-lost"} {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if rest := f &^ (FlagError | FlagGapBefore | FlagSignalLost); rest != 0 {
		names = append(names, fmt.Sprintf("0x%02x", uint8(rest)))
	}
	return strings.Join(names, ",")
}

// Meta is what a source knows about one frame beside its pixels.
type Meta struct {
	// Sequence counts every frame that the source produced, also those that were lost;
	// a hole in it is a gap. It never goes back within a recording's segment.
	Sequence uint64
	// Sampled is the interval in which the frame's pixels were on the screen, on the rig's clock.
	// For files it is on the file's own clock; see capture.Info.
	Sampled timeline.Interval
	Flags   Flags
	// Missed explains the hole in Sequence just before this frame, as far as the source
	// itself left it; NoCause where it left none. What the ring lost is counted apart.
	Missed Cause
}

// Cause says why frames are missing.
type Cause uint8

const (
	NoCause      Cause = iota
	RingFull           // the recorder could not keep up and the ring had no free slot
	SourceLate         // the source missed its deadline on a busy machine
	DriverLost         // the driver dropped frames before we saw them
	SignalLost         // no signal
	FormatChange       // the signal changed its mode and was negotiated anew
	Damaged            // the bytes on disk were destroyed; found by repair
	Pressure           // dropped by the encoder under the highest pressure
	Stopped            // in the ring when the recording could not go on (disk full, write error)
	DeviceGone         // the capture device was unplugged
	// there was a signal, of a kind that is not recorded: interlaced, protected, of a size that was
	// not asked for
	SignalRefused
	numCauses
)

// causeNames is never written to.
var causeNames = [numCauses]string{"none", "ring full", "source late", "dropped by the driver", "signal lost",
	"format change", "damaged on disk", "encoder under pressure", "recording stopped", "device gone", "signal refused"}

// Known reports whether this version of the program knows the cause.
func (c Cause) Known() bool { return c < numCauses }

func (c Cause) String() string {
	if c.Known() {
		return causeNames[c]
	}
	return fmt.Sprintf("cause(%d)", uint8(c))
}

// Gap is a run of frames that the source produced, or should have, and that are not stored.
type Gap struct {
	First uint64 // sequence number of the first missing frame
	Count uint64 // how many are missing, at least 1
	Cause Cause
	At    timeline.Interval // from the last frame before to the first after, as far as known
}
