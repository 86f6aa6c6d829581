package bus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// Faults are what happens to the requests of a rig of a [Memory].
type Faults struct {
	Cut       bool // the rig has no connection
	Duplicate bool // the hub gets each request twice
	Lost      bool // the hub gets the request, the rig does not get the answer
	Hold      bool // the hub gets the request when Release is called, the rig gets no answer
}

// Memory is a bus without a network, a disk and a clock. Requests call the hub's handler directly.
// All its hubs share one storage, as several processes would.
type Memory struct {
	mu       sync.Mutex
	revision uint64
	buckets  map[string]map[string]Entry
	logs     map[string][]Entry
	logged   map[[2]string]bool // log and ID
	blobs    map[string][]byte
	handler  Handler
	serving  context.Context
	calls    sync.WaitGroup
	rigs     map[string]*memoryLink
	failed   []error // of the next changes
}

// memoryLink is the connection of one rig name.
type memoryLink struct {
	faults  Faults
	held    []func()
	handles map[*memoryRig]bool
}

// NewMemory returns an empty bus.
func NewMemory() *Memory {
	return &Memory{buckets: map[string]map[string]Entry{}, logs: map[string][]Entry{},
		logged: map[[2]string]bool{}, blobs: map[string][]byte{}, rigs: map[string]*memoryLink{}}
}

// Hub returns the hub's side.
func (m *Memory) Hub() Hub { return memoryHub{m} }

// Rig returns the side of a rig. Several handles of one name are clones.
func (m *Memory) Rig(name string) Rig {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &memoryRig{m: m, name: name, woken: make(chan struct{}, 1)}
	m.link(name).handles[r] = true
	wake(r.woken)
	return r
}

// Inject sets the faults of a rig's requests from now on.
func (m *Memory) Inject(rig string, f Faults) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.link(rig)
	if l.faults.Cut && !f.Cut {
		l.wake()
	}
	l.faults = f
}

// Release delivers the held requests of a rig, the last one first.
func (m *Memory) Release(rig string) {
	m.mu.Lock()
	l := m.link(rig)
	held := l.held
	l.held = nil
	m.mu.Unlock()
	for _, deliver := range slices.Backward(held) {
		deliver()
	}
}

// Fail makes the next changes of the storage fail, one by each error. Nil lets a change pass.
func (m *Memory) Fail(errs ...error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed = append(m.failed, errs...)
}

func (m *Memory) link(rig string) *memoryLink {
	if m.rigs[rig] == nil {
		m.rigs[rig] = &memoryLink{handles: map[*memoryRig]bool{}}
	}
	return m.rigs[rig]
}

// begin returns the error of the next change.
func (m *Memory) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil || len(m.failed) == 0 {
		return err
	}
	err := m.failed[0]
	m.failed = m.failed[1:]
	return err
}

func (l *memoryLink) wake() {
	for r := range l.handles {
		wake(r.woken)
	}
}

// wake fills a channel of one element.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

type memoryHub struct{ m *Memory }

func (h memoryHub) Bucket(name string) Bucket { return memoryBucket{h.m, name} }
func (h memoryHub) Log() Records              { return memoryLog(h) }
func (h memoryHub) Blobs() Blobs              { return memoryBlobs(h) }
func (h memoryHub) Close() error              { return nil }

func (h memoryHub) Serve(ctx context.Context, handler Handler) error {
	h.m.mu.Lock()
	h.m.handler, h.m.serving = handler, ctx
	h.m.mu.Unlock()
	<-ctx.Done()
	h.m.mu.Lock()
	if h.m.serving == ctx {
		h.m.handler = nil
	}
	h.m.mu.Unlock()
	h.m.calls.Wait()
	return nil
}

func (h memoryHub) Wake(rig string) error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if l := h.m.link(rig); !l.faults.Cut {
		l.wake()
	}
	return nil
}

// Disconnect makes the rig connect anew.
func (h memoryHub) Disconnect(rig string) error { return h.Wake(rig) }

type memoryBucket struct {
	m    *Memory
	name string
}

func (b memoryBucket) Get(ctx context.Context, key string) (Entry, error) {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	e, ok := b.m.buckets[b.name][key]
	if !ok {
		return Entry{}, fmt.Errorf("%s %.130q: %w", b.name, key, ErrNotFound)
	}
	e.Value = slices.Clone(e.Value)
	return e, ctx.Err()
}

func (b memoryBucket) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if err := checkEntry(key, value); err != nil {
		return 0, err
	}
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	if err := b.m.begin(ctx); err != nil {
		return 0, fmt.Errorf("store %s: %w", key, err)
	}
	if b.m.buckets[b.name][key].Revision != revision {
		return 0, fmt.Errorf("store %s: %w", key, ErrConflict)
	}
	if b.m.buckets[b.name] == nil {
		b.m.buckets[b.name] = map[string]Entry{}
	}
	b.m.revision++
	b.m.buckets[b.name][key] = Entry{key, slices.Clone(value), b.m.revision}
	return b.m.revision, nil
}

func (b memoryBucket) PutAll(ctx context.Context, entries []Entry) (all []Stored) {
	for _, e := range entries {
		revision, err := b.Put(ctx, e.Key, e.Value, e.Revision)
		all = append(all, Stored{revision, err})
	}
	return all
}

func (b memoryBucket) Delete(ctx context.Context, key string, revision uint64) error {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	if err := b.m.begin(ctx); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	switch e, ok := b.m.buckets[b.name][key]; {
	case !ok:
		return fmt.Errorf("delete %.130q: %w", key, ErrNotFound)
	case e.Revision != revision:
		return fmt.Errorf("delete %.130q: %w", key, ErrConflict)
	}
	delete(b.m.buckets[b.name], key)
	return nil
}

func (b memoryBucket) All(ctx context.Context) ([]Entry, error) {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	all := make([]Entry, 0, len(b.m.buckets[b.name]))
	for _, e := range b.m.buckets[b.name] {
		e.Value = slices.Clone(e.Value)
		all = append(all, e)
	}
	slices.SortFunc(all, func(x, y Entry) int { return cmp.Compare(x.Revision, y.Revision) })
	return all, ctx.Err()
}

type memoryLog struct{ m *Memory }

func (l memoryLog) Append(ctx context.Context, log string, value []byte, id string) error {
	if err := checkRecord(log, value, id); err != nil {
		return err
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if err := l.m.begin(ctx); err != nil {
		return fmt.Errorf("append to %s: %w", log, err)
	}
	if id != "" && l.m.logged[[2]string{log, id}] {
		return nil
	}
	l.m.logged[[2]string{log, id}] = true
	l.m.revision++
	l.m.logs[log] = append(l.m.logs[log], Entry{id, slices.Clone(value), l.m.revision})
	return nil
}

func (l memoryLog) Read(ctx context.Context, log string, from uint64, limit int) ([]Entry, error) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	all := l.m.logs[log]
	start, _ := slices.BinarySearchFunc(all, from, func(e Entry, r uint64) int { return cmp.Compare(e.Revision, r) })
	return slices.Clone(all[start:min(start+max(limit, 0), len(all))]), ctx.Err()
}

type memoryBlobs struct{ m *Memory }

func (b memoryBlobs) Put(ctx context.Context, sha256 string, content []byte) error {
	if err := checkBlob(sha256, content); err != nil {
		return err
	}
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	if err := b.m.begin(ctx); err != nil {
		return fmt.Errorf("store %s: %w", sha256, err)
	}
	b.m.blobs[sha256] = slices.Clone(content)
	return nil
}

func (b memoryBlobs) Get(ctx context.Context, sha256 string) ([]byte, error) {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	content, ok := b.m.blobs[sha256]
	if !ok {
		return nil, fmt.Errorf("content %.80q: %w", sha256, ErrNotFound)
	}
	return slices.Clone(content), ctx.Err()
}

func (b memoryBlobs) Delete(ctx context.Context, sha256 string) error {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	delete(b.m.blobs, sha256)
	return ctx.Err()
}

type memoryRig struct {
	m     *Memory
	name  string
	woken chan struct{}
}

func (r *memoryRig) Woken() <-chan struct{} { return r.woken }

func (r *memoryRig) Connected() (bool, error) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	if l := r.m.link(r.name); l.faults.Cut || !l.handles[r] {
		return false, ErrAway
	}
	return true, nil
}

func (r *memoryRig) Close() error {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	delete(r.m.link(r.name).handles, r)
	return nil
}

func (r *memoryRig) Request(ctx context.Context, kind string, request []byte) ([]byte, error) {
	if err := checkRequest(kind, request); err != nil {
		return nil, err
	}
	r.m.mu.Lock()
	l := r.m.link(r.name)
	f, handler, serving := l.faults, r.m.handler, r.m.serving
	deliver := func() []byte { return handler(serving, r.name, kind, slices.Clone(request)) }
	away := f.Cut || handler == nil || !l.handles[r]
	if !away && f.Hold {
		l.held = append(l.held, func() { deliver() })
	}
	if !away {
		r.m.calls.Add(1)
		defer r.m.calls.Done()
	}
	r.m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if away || f.Hold {
		return nil, fmt.Errorf("ask the hub for %s: %w", kind, ErrAway)
	}
	if f.Duplicate {
		deliver()
	}
	answer := deliver()
	if f.Lost {
		return nil, fmt.Errorf("ask the hub for %s: %w", kind, ErrAway)
	}
	return answer, ctx.Err()
}
