//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// queue is the buffers that a driver fills, from REQBUFS to their release. Nothing in it is
// allocated while frames flow.
type queue struct {
	d      *device
	memory memory
	all    []queued
	planes int // of memory in each buffer
	on     bool
	closed bool // the device is, see shut

	// What ioctl reads and writes.
	arg       buffer
	argPlanes [maxPlanes]plane
	data      [maxPlanes][]byte
}

// queued is one buffer.
type queued struct {
	mem  [maxPlanes][]byte // mappings; nil for user pointers
	fds  [maxPlanes]int    // of DMA buffers, or -1
	slot *ringbuf.Slot[frame.Meta]
	addr uintptr       // of the slot that the driver knows by this number, 0 for none yet
	at   timeline.Time // when it was given to the driver
	in   bool          // the driver has it
}

// filled is a buffer that came back.
type filled struct {
	index  int
	flags  uint32
	seq    uint32
	stamp  timeline.Time
	queued timeline.Time
	planes [][]byte // what the driver says it wrote, of each plane; valid until the next call
}

// newQueue makes the driver allocate count buffers, or prepare for as many of the caller's as it
// can distinguish. A buffer whose number already names the same memory need not be pinned again.
// Pinning costs more than copying a small frame.
func newQueue(d *device, m memory, count int, planes int) (*queue, error) {
	q := &queue{d: d, memory: m, planes: planes}
	if m == memUserPtr {
		count = maxBuffers
	}
	got, err := q.request(uint32(count))
	if err != nil {
		return nil, err
	}
	if got < 2 || got > maxBuffers {
		return nil, errors.Join(fmt.Errorf("%s gives %d buffers, want %d", d.path, got, count), q.release())
	}
	q.all = make([]queued, got)
	for i := range q.all {
		for p := range maxPlanes {
			q.all[i].fds[p] = -1
		}
	}
	if m == memUserPtr {
		return q, nil
	}
	for i := range q.all {
		if err := q.mapBuffer(i); err != nil {
			return nil, errors.Join(err, q.release())
		}
	}
	return q, nil
}

func (q *queue) kernelMemory() uint32 {
	if q.memory == memUserPtr {
		return memoryUserPtr
	}
	return memoryMMAP
}

// request is REQBUFS; of 0 buffers it gives them all back.
func (q *queue) request(count uint32) (uint32, error) {
	r := requestbuffers{count: count, typ: q.d.bufType(), memory: q.kernelMemory()}
	err := q.d.ioctl(vidiocReqbufs, unsafe.Pointer(&r))
	if errors.Is(err, unix.EINVAL) && q.memory == memUserPtr && count > 0 {
		return 0, fmt.Errorf("%s does not support user memory (userptr: %w); use memory=mmap", q.d.path, err)
	}
	if err != nil {
		return 0, q.d.explain(fmt.Sprintf("get %d buffers from %s", count, q.d.path), err)
	}
	return r.count, nil
}

// clearArg prepares the argument for a request about one buffer.
func (q *queue) clearArg(index int) *buffer {
	q.arg = buffer{index: uint32(index), typ: q.d.bufType(), memory: q.kernelMemory()}
	if q.d.multi {
		q.argPlanes = [maxPlanes]plane{}
		q.arg.m = uintptr(unsafe.Pointer(&q.argPlanes)) // q is on the heap, where nothing moves
		q.arg.length = uint32(q.planes)
	}
	return &q.arg
}

// mapBuffer maps a buffer's planes: through the device, or through DMA buffers that the driver
// exports.
func (q *queue) mapBuffer(i int) error {
	b := q.clearArg(i)
	if err := q.d.ioctl(vidiocQuerybuf, unsafe.Pointer(b)); err != nil {
		return fmt.Errorf("ask %s for buffer %d: %w", q.d.path, i, err)
	}
	if q.d.multi && int(b.length) != q.planes {
		return fmt.Errorf("%s has %d planes in buffer %d, want %d", q.d.path, b.length, i, q.planes)
	}
	for p := range q.planes {
		length, offset := b.length, uint32(b.m)
		if q.d.multi {
			length, offset = q.argPlanes[p].length, uint32(q.argPlanes[p].m)
		}
		if length == 0 || length > 2*frame.MaxBytes {
			return fmt.Errorf("%s has a buffer of %d bytes", q.d.path, length)
		}
		if err := q.mapPlane(i, p, int(length), int64(offset)); err != nil {
			return err
		}
	}
	return nil
}

func (q *queue) mapPlane(i, p, length int, offset int64) (err error) {
	fd := -1
	if q.memory == memDMABUF {
		x := exportbuffer{typ: q.d.bufType(), index: uint32(i), plane: uint32(p), flags: unix.O_CLOEXEC}
		if err := q.d.ioctl(vidiocExpbuf, unsafe.Pointer(&x)); err != nil {
			return fmt.Errorf("%s does not export its buffers (dmabuf: %w); use memory=mmap", q.d.path, err)
		}
		fd, offset = int(x.fd), 0
		q.all[i].fds[p] = fd
	}
	if q.all[i].mem[p], err = q.d.mmap(fd, length, offset); err != nil {
		return fmt.Errorf("map buffer %d of %s: %w", i, q.d.path, err)
	}
	return nil
}

// give hands buffer i to the driver. A user pointer's slot must be set.
func (q *queue) give(i int, now timeline.Time) error {
	b := q.clearArg(i)
	e := &q.all[i]
	if q.memory == memUserPtr {
		length := uint32(len(e.slot.Bytes()))
		if q.d.multi {
			q.argPlanes[0].m, q.argPlanes[0].length = e.addr, length
		} else {
			b.m, b.length = e.addr, length
		}
	}
	if err := q.d.ioctl(vidiocQbuf, unsafe.Pointer(b)); err != nil {
		return fmt.Errorf("queue buffer %d of %s: %w", i, q.d.path, err)
	}
	e.at, e.in = now, true
	return nil
}

// place finds the number under which a slot goes to the driver: that under which the driver knows
// its memory, else the one that has not been used for the longest time.
func (q *queue) place(slot *ringbuf.Slot[frame.Meta]) int {
	addr := address(slot)
	oldest := -1
	for i := range q.all {
		e := &q.all[i]
		if e.slot != nil {
			continue
		}
		if e.addr == addr {
			oldest = i
			break
		}
		if oldest < 0 || e.at < q.all[oldest].at {
			oldest = i
		}
	}
	q.all[oldest].slot, q.all[oldest].addr = slot, addr
	return oldest
}

// address is where a slot's bytes are. They are the ring's memory, which its owner keeps where it
// is.
func address(slot *ringbuf.Slot[frame.Meta]) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(slot.Bytes())))
}

// take gets a filled buffer back; false is none there yet.
func (q *queue) take(f *filled) (bool, error) {
	b := q.clearArg(0)
	if err := q.d.ioctl(vidiocDqbuf, unsafe.Pointer(b)); err != nil {
		if errors.Is(err, unix.EAGAIN) {
			return false, nil
		}
		return false, fmt.Errorf("take a buffer back from %s: %w", q.d.path, err)
	}
	if int(b.index) >= len(q.all) || !q.all[b.index].in {
		return false, fmt.Errorf("%s gave back buffer %d, which it did not have", q.d.path, b.index)
	}
	e := &q.all[b.index]
	e.in = false
	*f = filled{index: int(b.index), flags: b.flags, seq: b.sequence, queued: e.at}
	if b.sec >= 0 && b.sec < 1<<32 && b.usec >= 0 && b.usec < 1_000_000 {
		f.stamp = timeline.Time(b.sec*1_000_000_000 + b.usec*1000)
	}
	for p := range q.planes {
		used, skip := int(b.bytesused), 0
		if q.d.multi {
			used, skip = int(q.argPlanes[p].bytesused), int(q.argPlanes[p].dataOffset)
		}
		mem := e.mem[p]
		if q.memory == memUserPtr {
			mem = e.slot.Bytes()
		}
		used = min(used, len(mem))
		q.data[p] = mem[min(skip, used):used] // bytesused includes the skipped bytes
	}
	f.planes = q.data[:q.planes]
	return true, nil
}

// syncDMA tells the kernel that the processor begins or ends to read exported buffers. Without it
// caches may be stale.
func (q *queue) syncDMA(i int, edge uint64) error {
	if q.memory != memDMABUF {
		return nil
	}
	for p := range q.planes {
		if err := q.d.syncDMA(q.all[i].fds[p], dmabufSyncRead|edge); err != nil {
			return fmt.Errorf("sync buffer %d of %s: %w", i, q.d.path, err)
		}
	}
	return nil
}

func (q *queue) streamOn() error {
	typ := int32(q.d.bufType())
	if err := q.d.ioctl(vidiocStreamOn, unsafe.Pointer(&typ)); err != nil {
		if errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("start the stream of %s: %w: no USB bandwidth; use another port or a smaller mode",
				q.d.path, err)
		}
		return q.d.explain("start the stream of "+q.d.path, err)
	}
	q.on = true
	return nil
}

// releaseError says that a stream ended with an error. It is reported even if the stream was to
// end.
type releaseError struct{ error }

func (r releaseError) Unwrap() error { return r.error }

// release stops the stream and gives every buffer, mapping and slot back. It does all it can,
// whatever fails. Its error is a releaseError.
func (q *queue) release() error {
	failed := q.stop()
	for i := range q.all {
		e := &q.all[i]
		for p := range e.mem {
			if e.mem[p] != nil {
				failed = errors.Join(failed, q.d.munmap(e.mem[p]))
				e.mem[p] = nil
			}
			if e.fds[p] >= 0 {
				failed = errors.Join(failed, q.d.closeFD(e.fds[p]))
				e.fds[p] = -1
			}
		}
	}
	// The driver lets go of user pointers here at the latest, so slots are given back after it.
	if !q.closed {
		_, err := q.request(0)
		if err != nil && q.memory == memUserPtr {
			err = q.shut(err)
		}
		failed = errors.Join(failed, err)
	}
	for i := range q.all {
		if s := q.all[i].slot; s != nil {
			q.all[i].slot = nil
			s.Abandon()
		}
	}
	if failed == nil || errors.Is(failed, unix.ENODEV) {
		return nil // a device that is gone holds no buffer
	}
	return releaseError{failed}
}

// stop is STREAMOFF.
func (q *queue) stop() error {
	if !q.on {
		return nil
	}
	q.on = false
	typ := int32(q.d.bufType())
	err := q.d.ioctl(vidiocStreamOff, unsafe.Pointer(&typ))
	if err == nil {
		return nil
	}
	err = fmt.Errorf("stop the stream of %s: %w", q.d.path, err)
	if q.memory == memUserPtr || errors.Is(err, unix.ENODEV) {
		err = q.shut(err)
	}
	return err
}

// shut closes the device after an error: a driver that was not told to stop may write into our
// memory until its file is closed.
func (q *queue) shut(why error) error {
	q.closed = true
	q.d.shut = !errors.Is(why, unix.ENODEV)
	return errors.Join(why, q.d.close())
}
