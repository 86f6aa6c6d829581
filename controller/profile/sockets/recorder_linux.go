//go:build linux && (amd64 || arm64)

package sockets

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/analyze/activity/sockets"
	"github.com/eideticker/eideticker/capture/timeline"
)

const (
	defaultRing = 8 << 20 // bytes
	drainEvery  = time.Second
)

// Recorder records socket calls. Open returns one that runs. It is safe for concurrent use.
type Recorder struct {
	group   *cgroup
	maps    []*ebpf.Map
	open    *ebpf.Map
	lostMap *ebpf.Map
	linked  sync.Mutex // of links
	links   []link.Link
	ring    *ringbuf.Reader
	begin   int64
	arrival bool
	kernel  *kernel

	out    *sockets.Writer
	one    sockets.Record
	lost   uint32             // of the last record
	at     int64              // end of the last record
	until  int64              // end of the file's records, if it is before that of the recording
	names  map[int32][16]byte // of processes
	failed error
	ended  chan struct{} // the reader

	mu   sync.Mutex
	once sync.Once
	info Info
	err  error
}

// Open starts a recording of the processes that [Recorder.Prepare] selects. It writes a raw file of
// package analyze/activity/sockets to w. Missing rights or kernel parts are a [MissingError].
func Open(w io.Writer, o Options) (r *Recorder, err error) {
	if err := Check(); err != nil {
		return nil, err
	}
	size := o.Ring
	if size == 0 {
		size = defaultRing
	}
	r = &Recorder{begin: now64(), names: map[int32][16]byte{}, ended: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("record socket calls: %w", err), r.release())
		}
	}()
	k, err := loadKernel()
	r.kernel = k
	if err != nil {
		return r, &MissingError{"the kernel's type information cannot be used: " + err.Error(),
			"use a kernel with CONFIG_DEBUG_INFO_BTF", true}
	}
	if err := rlimit.RemoveMemlock(); err != nil {
		return r, err
	}
	if r.group, err = newCgroup(); err != nil {
		return r, err
	}
	if err := r.load(k, size); err != nil {
		return r, err
	}
	r.out = sockets.NewWriter(w, o.Limit)
	go r.read()
	return r, nil
}

// load makes the maps, and attaches the programs.
func (r *Recorder) load(k *kernel, size int) error {
	table := &ebpf.MapSpec{Name: "eid_calls", Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: maxCalls}
	for number, properties := range calls() {
		table.Contents = append(table.Contents, ebpf.MapKV{Key: number, Value: properties})
	}
	specs := []*ebpf.MapSpec{
		table,
		{Name: "eid_lost", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1},
		{Name: "eid_cgroup", Type: ebpf.CGroupArray, KeySize: 4, ValueSize: 4, MaxEntries: 1},
		{Name: "eid_open", Type: ebpf.Hash, KeySize: 8, ValueSize: sizeRecord, MaxEntries: openCalls},
		{Name: "eid_ring", Type: ebpf.RingBuf, MaxEntries: uint32(size)},
		{Name: "eid_watched", Type: ebpf.LRUHash, KeySize: 8, ValueSize: 8, MaxEntries: openCalls},
	}
	for _, spec := range specs {
		m, err := ebpf.NewMap(spec)
		if err != nil {
			return fmt.Errorf("map %s: %w", spec.Name, err)
		}
		r.maps = append(r.maps, m)
	}
	r.lostMap, r.open = r.maps[1], r.maps[3]
	if err := r.maps[2].Put(uint32(0), uint32(r.group.dir.Fd())); err != nil {
		return fmt.Errorf("map eid_cgroup: %w", err)
	}
	var err error
	if r.ring, err = ringbuf.NewReader(r.maps[4]); err != nil {
		return err
	}
	p := programs{k, r.maps[0].FD(), r.maps[1].FD(), r.maps[2].FD(), r.maps[3].FD(), r.maps[4].FD(), r.maps[5].FD(),
		int32(size / 4)}
	for _, one := range []struct {
		tracepoint string
		code       asm.Instructions
	}{{"sk_data_ready", p.arrival()}, {"sys_exit", p.exit()}, {"sys_enter", p.enter()}} {
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "eid_" + one.tracepoint, Type: ebpf.RawTracepoint,
			Instructions: one.code, License: "GPL"})
		if err != nil {
			return fmt.Errorf("program for %s: %w", one.tracepoint, err)
		}
		l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: one.tracepoint, Program: program})
		_ = program.Close() // the link holds it
		switch {
		case err == nil:
			r.links = append(r.links, l)
		case one.tracepoint == "sk_data_ready" && errors.Is(err, os.ErrNotExist): // before Linux 6.3
			continue
		default:
			return fmt.Errorf("tracepoint %s: %w", one.tracepoint, err)
		}
		r.arrival = r.arrival || one.tracepoint == "sk_data_ready"
	}
	return nil
}

// Prepare selects a command that was not started, with its children.
func (r *Recorder) Prepare(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(r.group.dir.Fd())
}

// Stop ends the recording and completes the file. Calls that did not return are in it. The target
// may still run. Later calls return the same.
func (r *Recorder) Stop() (Info, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.once.Do(func() {
		r.err = r.detach()
		end := now64()
		r.err = errors.Join(r.err, r.ring.Flush())
		<-r.ended
		rest := r.rest(end)
		end = cmp.Or(r.until, end)
		r.err = errors.Join(r.err, rest, cmp.Or(r.failed, r.out.Close(r.begin, end)))
		r.info.Begin, r.info.End, r.info.Arrivals = r.begin, end, r.arrival
		if r.err != nil {
			r.err = fmt.Errorf("record socket calls: %w", r.err)
		}
	})
	return r.info, r.err
}

// Close stops the recording, and removes the cgroup. Its processes move to that of this program.
func (r *Recorder) Close() error {
	_, err := r.Stop()
	return errors.Join(err, r.release())
}

// detach ends the programs in the kernel.
func (r *Recorder) detach() (err error) {
	r.linked.Lock()
	defer r.linked.Unlock()
	for _, l := range r.links {
		err = errors.Join(err, l.Close())
	}
	r.links = nil
	return err
}

func (r *Recorder) release() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err = r.detach()
	if r.ring != nil {
		err = errors.Join(err, r.ring.Close())
	}
	for _, m := range r.maps {
		err = errors.Join(err, m.Close())
	}
	r.ring, r.maps = nil, nil
	if r.group != nil {
		err = errors.Join(err, r.group.remove())
	}
	r.group = nil
	return err
}

// read copies records from the ring to the file until it is flushed.
func (r *Recorder) read() {
	defer close(r.ended)
	var one ringbuf.Record
	for r.ring.SetDeadline(time.Now().Add(drainEvery)); ; {
		err := r.ring.ReadInto(&one)
		switch {
		case err == nil:
			r.record(one.RawSample)
		case errors.Is(err, os.ErrDeadlineExceeded):
			r.wrote(r.out.Flush())
			r.ring.SetDeadline(time.Now().Add(drainEvery))
		case errors.Is(err, ringbuf.ErrFlushed):
			return
		default:
			r.failed = errors.Join(r.failed, err)
			return
		}
	}
}

// rest writes the calls that did not return, and a gap for losses after the last record.
func (r *Recorder) rest(end int64) error {
	var lost uint64
	if err := r.lostMap.Lookup(uint32(0), &lost); err != nil {
		return err
	}
	r.losses(uint32(lost), end)
	var thread uint64
	var b [sizeRecord]byte
	each := r.open.Iterate()
	for each.Next(&thread, &b) {
		one := r.call(b[:])
		one.End, one.Flags = end, one.Flags|sockets.Unfinished
		r.write(one)
	}
	return each.Err()
}

// losses writes a gap if the count of lost records has changed.
func (r *Recorder) losses(lost uint32, at int64) {
	if n := lost - r.lost; n != 0 {
		r.lost = lost
		r.info.Lost += int64(n)
		r.write(&sockets.Record{Kind: sockets.IsGap, Begin: min(max(r.at, r.begin), at), End: at, Result: int64(n)})
	}
}

func (r *Recorder) write(one *sockets.Record) {
	if r.until == 0 && r.wrote(r.out.Write(one)) && one.Kind == sockets.IsCall {
		r.info.Calls++
	}
}

// wrote reports whether the file can have more records. The recording ends at the first error.
func (r *Recorder) wrote(err error) bool {
	if err == nil || r.until > 0 {
		return err == nil
	}
	r.until = max(r.at, r.begin)
	if r.info.Full = errors.Is(err, sockets.ErrLimit); !r.info.Full {
		r.failed = err
	}
	if err := r.detach(); err != nil {
		r.failed = cmp.Or(r.failed, err)
	}
	return false
}

// record writes a record of the ring.
func (r *Recorder) record(b []byte) {
	var one *sockets.Record
	switch {
	case len(b) >= sizeRecord:
		one = r.call(b)
	case len(b) >= sizeArrival:
		one = r.basic(b)
		one.Kind, one.End = sockets.IsArrival, one.Begin
	default:
		return
	}
	r.losses(binary.NativeEndian.Uint32(b[recLost:]), one.End)
	r.at = max(r.at, one.End)
	r.write(one)
}

// basic decodes the part that calls and arrivals have. The record is valid until the next one.
func (r *Recorder) basic(b []byte) *sockets.Record {
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	one := &r.one
	*one = sockets.Record{Begin: int64(u64(b[recBegin:])), Inode: u64(b[recInode:]), Sequence: u32(b[recSequence:]),
		Origin: u32(b[recOrigin:])}
	if u32(b[recStreamed:]) != 0 {
		one.Flags = sockets.Streamed
	}
	return one
}

// call decodes the record of a call.
func (r *Recorder) call(b []byte) *sockets.Record {
	u16, u32, u64 := binary.NativeEndian.Uint16, binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	one, common := r.basic(b), b[recCommon:]
	one.Kind, one.Name, one.FD = sockets.IsCall, sockets.Name(u32(b[recCall:])&namesMask), int32(u32(b[recFD:]))
	one.End, one.Result = int64(u64(b[recEnd:])), int64(u64(b[recResult:]))
	one.Process, one.ID, one.Start = int32(u64(b[recThread:])>>32), int32(u32(b[recThread:])), int64(u64(b[recStart:]))
	one.Family, one.Type = u16(common[r.kernel.family:]), u16(b[recType:])
	copy(one.Thread[:], b[recName:recAddress])
	one.Leader = r.process(one)
	if u32(b[recFlags:])&unix.MSG_PEEK != 0 {
		one.Flags |= sockets.Peek
	}
	local, remote := r.kernel.addresses(one.Family, common)
	if !remote.IsValid() {
		remote = passed(b[recAddress : recAddress+sizeAddress])
	}
	one.Local, one.Remote = sockets.AddressOf(local), sockets.AddressOf(remote)
	return one
}

// addresses reads those of a socket of the internet. Without a port they are not valid.
func (k *kernel) addresses(family uint16, common []byte) (local, remote netip.AddrPort) {
	read := func(at int32, size int, port uint16) netip.AddrPort {
		a, ok := netip.AddrFromSlice(common[max(0, at):][:size])
		if !ok || port == 0 || at < 0 {
			return netip.AddrPort{}
		}
		return netip.AddrPortFrom(a.Unmap(), port)
	}
	here, there := binary.NativeEndian.Uint16(common[k.localPort:]), binary.BigEndian.Uint16(common[k.remotePort:])
	switch family {
	case unix.AF_INET:
		return read(k.local4, 4, here), read(k.remote4, 4, there)
	case unix.AF_INET6:
		return read(k.local6, 16, here), read(k.remote6, 16, there)
	}
	return local, remote
}

// passed reads a sockaddr of the internet.
func passed(b []byte) netip.AddrPort {
	port := binary.BigEndian.Uint16(b[2:])
	switch binary.NativeEndian.Uint16(b) {
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port)
	case unix.AF_INET6:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), port)
	}
	return netip.AddrPort{}
}

// process returns the name of a thread's process: that of its first thread.
func (r *Recorder) process(one *sockets.Record) [16]byte {
	name, ok := r.names[one.Process]
	switch {
	case one.ID == one.Process:
		name = one.Thread
	case !ok:
		b, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(int(one.Process)), "comm"))
		copy(name[:], bytes.TrimSpace(b))
	}
	r.names[one.Process] = name
	return name
}

func now64() int64 { return int64(timeline.Monotonic().Now()) }
