package ringbuf

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/cpu"
)

const (
	// Alignment of every slot in bytes, and the unit of its size: what O_DIRECT writes and
	// V4L2 user pointers ask for.
	Alignment = 4096

	// minSlots is the least that works: one being written, the newest, one being read.
	minSlots = 3
	// maxSlots bounds the bookkeeping that a huge memory cut in tiny slots would need.
	maxSlots = 1 << 24
)

// Ring carries frames with metadata M from one writer to any number of readers.
// Make one with [New]. A slot keeps its M, and what that points to, until it is used again.
type Ring[M any] struct {
	slots []Slot[M]
	order []atomic.Uint32 // position & mask → slot index; see Slot.Commit for its ordering
	mask  uint64
	_     cpu.CacheLinePad // what changes stands apart from what doesn't, and from what others change

	writer[M]
	_ cpu.CacheLinePad

	// state is the head, the end of stream and the number of lossless readers in one word (see
	// word). So all agree on one order of commits and of readers that come or go. Ordering:
	// Commit's Add publishes everything that the writer stored before it. A reader that loads the
	// new head sees all of it.
	state atomic.Uint64
	err   error // what readers get after the last frame; stored before the closed bit is set

	// readers is replaced as a whole, so that the writer walks it without a lock.
	// Ordering: see NewReader.
	readers  atomic.Pointer[[]*Reader[M]]
	rollMu   sync.Mutex // guards replacing readers; never taken on the writer's side
	nextID   int        // guarded by rollMu
	_        cpu.CacheLinePad
	freed    freeList[M]
	used     atomic.Int64 // slots not free. Ordering: see freeList.push
	room     bell         // rung when a slot comes free
	_        cpu.CacheLinePad
	counters counters
}

// writer is the part of a ring that only the writer's goroutine touches.
type writer[M any] struct {
	local  uint32   // private chain of free slots, index+1; 0 is its end
	newest *Slot[M] // the slot that the ring itself keeps
	held   int      // slots acquired and not yet committed or abandoned
}

// word is the ring's state. Bits 0–14 count the lossless readers. Bit 15 is set when the stream has
// ended. Bits 16–63 are the position of the next frame; 2^48 frames take 148,000 years at 60 Hz.
type word uint64

const (
	maxLossless = 1<<15 - 1
	closedBit   = 1 << 15
	oneFrame    = 1 << 16
)

func (w word) head() uint64  { return uint64(w >> 16) }
func (w word) closed() bool  { return w&closedBit != 0 }
func (w word) lossless() int { return int(w & maxLossless) }

// New cuts mem into slots of slotSize bytes, rounded up to [Alignment], for frames of at most that
// size. Bytes before the first aligned address and at the end stay unused. The ring uses mem until
// the last slot and lease are given back.
//
// It fails if fewer than three slots fit, and the error has the necessary size.
func New[M any](mem []byte, slotSize int) (*Ring[M], error) {
	if slotSize <= 0 {
		return nil, fmt.Errorf("ring of slots of %d bytes: a slot needs at least one byte", slotSize)
	}
	if slotSize > math.MaxInt/minSlots-2*Alignment {
		return nil, fmt.Errorf("ring of slots of %d bytes: more than this machine can address", slotSize)
	}
	size := roundUp(slotSize)
	skip := 0
	if len(mem) > 0 {
		skip = int(-uintptr(unsafe.Pointer(unsafe.SliceData(mem))) & (Alignment - 1))
	}
	count := min(max(len(mem)-skip, 0)/size, maxSlots)
	if count < minSlots {
		return nil, fmt.Errorf("ring of slots of %d bytes in %d bytes of memory: %w: %d bytes are needed for %d slots",
			size, len(mem), errTooSmall, minSlots*size+skip, minSlots)
	}

	r := &Ring[M]{
		slots: make([]Slot[M], count),
		// Lossless readers are at most count frames behind. So all of them read an entry before its
		// place in the circle is reused.
		order: make([]atomic.Uint32, 1<<bits.Len(uint(count-1))),
		room:  newBell(),
	}
	r.mask = uint64(len(r.order) - 1)
	r.readers.Store(new([]*Reader[M]))
	for i := range r.slots {
		start, end := skip+i*size, skip+(i+1)*size
		s := &r.slots[i]
		s.ring, s.index, s.mem = r, uint32(i), mem[start:end:end]
		s.next = uint32(i + 2) // chains all slots, the first one foremost
	}
	r.slots[count-1].next = 0
	r.local = 1
	return r, nil
}

// errTooSmall says that the memory holds fewer than the three slots that a ring needs.
var errTooSmall = errors.New("memory too small")

// BytesFor returns the size of page-aligned memory, such as [Map] returns, for slots of slotSize
// bytes each. slots counts as at least three. It returns math.MaxInt, which Map rejects, for sizes
// that a machine cannot address.
func BytesFor(slots, slotSize int) int {
	slots, slotSize = max(slots, minSlots), max(slotSize, 1)
	if slotSize > math.MaxInt-Alignment || slots > math.MaxInt/roundUp(slotSize) {
		return math.MaxInt
	}
	return slots * roundUp(slotSize)
}

func roundUp(n int) int { return (n + Alignment - 1) &^ (Alignment - 1) }

// Slots returns how many slots there are.
func (r *Ring[M]) Slots() int { return len(r.slots) }

// SlotSize returns the bytes of one slot: the requested size, rounded up to [Alignment].
func (r *Ring[M]) SlotSize() int { return len(r.slots[0].mem) }
