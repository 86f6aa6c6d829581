package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// relays has rig a answer its tickets with a handler. It returns how many were answered.
func (w *world) relays(hub string, files http.Handler) *atomic.Int64 {
	ctx, stop := context.WithCancel(w.Context())
	var all sync.WaitGroup
	w.Cleanup(func() { stop(); all.Wait() })
	h, count := w.hub, new(atomic.Int64)
	answer := func(ticket wire.Ticket) {
		asked := httptest.NewRequestWithContext(ctx, http.MethodGet, ticket.Path, nil)
		if ticket.Range != "" {
			asked.Header.Set("Range", ticket.Range)
		}
		got := httptest.NewRecorder()
		files.ServeHTTP(got, asked)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, hub+"/fleet/v1/ticket/"+ticket.ID, got.Body)
		if err != nil {
			w.Error(err)
			return
		}
		r.Header = got.Header().Clone()
		r.Header.Set(wire.StatusHeader, strconv.Itoa(got.Code))
		count.Add(1)
		if res, err := http.DefaultClient.Do(r); err == nil {
			res.Body.Close()
		}
	}
	all.Go(func() {
		for ctx.Err() == nil {
			var got wire.Relayed
			if err := json.Unmarshal(h.handle(ctx, "a", "relay", []byte(`{"wait_ns":100000000}`)), &got); err != nil {
				w.Error(err)
			}
			for _, ticket := range got.Tickets {
				all.Go(func() { answer(ticket) })
			}
		}
	})
	return count
}

// rigFile is a file of a rig that tests change.
type rigFile struct {
	mu      sync.Mutex
	content []byte
	tag     string
	busy    bool // the rig measures
}

func (f *rigFile) set(content []byte, tag string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.content, f.tag = content, tag
}

func (f *rigFile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy {
		http.Error(w, "the rig measures now", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("ETag", f.tag)
	w.Header().Set("Content-Type", "video/mp4")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
}

func randomBytes(seed uint64, n int) []byte {
	out := make([]byte, n)
	random := rand.NewChaCha8([32]byte{byte(seed)})
	_, _ = random.Read(out) // never fails
	return out
}

// film is a hub with a run of rig a, whose films have so many bytes.
func film(t *testing.T, size int, change func(*Options)) (w *world, f *rigFile, url string, asked *atomic.Int64) {
	t.Helper()
	w = newWorld(t, "a")
	if change != nil {
		change(&w.o)
		w.restart()
		w.rigs["a"].poll()
	}
	s := httptest.NewServer(w.hub.Handler())
	t.Cleanup(s.Close)
	raw, state := zipped(t, map[string]string{"set.json": lightSet, "run-1/run.json": "{}",
		"run-1/files.json": fmt.Sprintf(`[{"name":"video.mp4","bytes":%d},{"name":"b.mp4","bytes":%[1]d},`+
			`{"name":"c.mp4","bytes":%[1]d},{"name":"d.mp4","bytes":%[1]d},{"name":"e.mp4","bytes":%[1]d},`+
			`{"name":"f.mp4","bytes":%[1]d}]`, size)})
	if err := w.hub.light.receive(t.Context(), "a", "s-1.1", *state, bytes.NewReader(raw), nil); err != nil {
		t.Fatal(err)
	}
	f = &rigFile{content: randomBytes(1, size), tag: `"1"`}
	return w, f, s.URL + "/fleet/v1/runs/a/s-1.1~run-1/video.mp4", w.relays(s.URL, f)
}

func pieceFiles(t *testing.T, w *world) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(w.o.Dir, "fleet/pieces/*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPieces: a file of a rig is fetched in pieces, each once. Those that the hub has are there
// while the rig measures, is away, and after a restart.
//
// Fault: A rig of a fleet measures or is away, and its film is opened again
func TestPieces(t *testing.T) {
	t.Parallel()
	const size = 2*pieceBytes + 1000
	w, f, url, asked := film(t, size, nil)
	want := func(name, ranged string, status, from, to int, fetched int64) {
		t.Helper()
		got, body, header := fetch(t, "GET", url, "", "Range", ranged)
		if got != status || body != string(f.content[from:to]) || asked.Load() != fetched ||
			header.Get("Content-Type") != "video/mp4" || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d, %d bytes, %d pieces fetched, %v", name, got, len(body), asked.Load(), header)
		}
	}
	want("over an edge", fmt.Sprintf("bytes=%d-%d", pieceBytes-10, pieceBytes+9), 206, pieceBytes-10, pieceBytes+10, 2)
	want("the same", fmt.Sprintf("bytes=%d-%d", pieceBytes-10, pieceBytes+9), 206, pieceBytes-10, pieceBytes+10, 2)
	want("the end", "bytes=-5", 206, size-5, size, 3)
	f.mu.Lock()
	f.busy = true
	f.mu.Unlock()
	want("while it measures", "", 200, 0, size, 3)
	w.restart() // the rig still asks the hub before it
	s := httptest.NewServer(w.hub.Handler())
	defer s.Close()
	url = s.URL + "/fleet/v1/runs/a/s-1.1~run-1/video.mp4"
	want("while it is away", "bytes=1-2", 206, 1, 3, 3)
	if status, body, header := fetch(t, "HEAD", url, ""); status != 200 || body != "" ||
		header.Get("Content-Length") != strconv.Itoa(size) {
		t.Errorf("HEAD: %d %q %v", status, body, header)
	}
	if status, _, header := fetch(t, "GET", url, "", "Range", "bytes=99999999-"); status != 416 ||
		header.Get("Content-Range") != fmt.Sprintf("bytes */%d", size) {
		t.Errorf("behind the end: %d %v", status, header)
	}
	for _, name := range pieceFiles(t, w) {
		if strings.HasSuffix(name, "-0") {
			if err := os.Truncate(name, 1000); err != nil {
				t.Fatal(err)
			}
		}
	}
	want("an undamaged piece", "bytes=-5", 206, size-5, size, 3)
	if status, body, header := fetch(t, "GET", url, ""); status != 503 || !strings.Contains(body, "a is away") ||
		header.Get("Content-Range")+header.Get("Accept-Ranges") != "" {
		t.Errorf("without a piece: %d %.100q %v", status, body, header)
	}
}

// TestPiecesConditions: a file has its rig's ETag, by which clients ask for it again.
// It fails if a film that has not changed is sent twice, or one that has changed is not sent.
func TestPiecesConditions(t *testing.T) {
	t.Parallel()
	const size = pieceBytes + 1000
	w, f, url, asked := film(t, size, nil)
	want := func(name string, status, bytes int, tag string, fetched int64, header ...string) {
		t.Helper()
		got, body, answer := fetch(t, "GET", url, "", header...)
		if got != status || status < 400 && len(body) != bytes || answer.Get("ETag") != tag || asked.Load() != fetched {
			t.Errorf("%s: %d, %d bytes, ETag %s, %d fetched", name, got, len(body), answer.Get("ETag"), asked.Load())
		}
	}
	want("a part of an unknown file", 200, size, `"1"`, 2, "Range", "bytes=0-9", "If-Range", `"1"`)
	f.mu.Lock()
	f.busy = true
	f.mu.Unlock()
	want("the same", 304, 0, `"1"`, 2, "If-None-Match", `"0", "1"`)
	want("another", 200, size, `"1"`, 2, "If-None-Match", `"0"`)
	want("a part", 206, 10, `"1"`, 2, "Range", "bytes=0-9", "If-Range", `"1"`)
	want("a part of another", 200, size, `"1"`, 2, "Range", "bytes=0-9", "If-Range", `"0"`)
	restart := func() {
		w.hub.pieces.mu.Lock()
		defer w.hub.pieces.mu.Unlock()
		w.hub.pieces.tags = map[string]string{}
	}
	restart()
	want("after a restart", 304, 0, `"1"`, 2, "If-None-Match", `"1"`)
	want("whole", 200, size, `"1"`, 2)
	drop := func(part string) {
		w.hub.pieces.mu.Lock()
		defer w.hub.pieces.mu.Unlock()
		for _, name := range w.hub.pieces.byAge() {
			if strings.HasSuffix(name, part) {
				w.hub.pieces.remove(name)
			}
		}
	}
	drop("-1")
	want("its end is away", 503, 0, "", 3, "Range", "bytes=-5")
	drop("-0")
	f.mu.Lock()
	f.busy = false
	f.mu.Unlock()
	f.set(randomBytes(2, size), `"2"`)
	want("changed", 200, size, `"2"`, 5, "If-None-Match", `"1"`)
	want("the end", 206, 5, `"2"`, 6, "Range", "bytes=-5")
	want("whole", 200, size, `"2"`, 7)
	drop("-1")
	restart()
	f.set(randomBytes(3, size), `"3"`)
	want("the end of another", 200, size, `"3"`, 9, "Range", "bytes=-5", "If-Range", `"2"`)
}

// TestPiecesAtOnce: clients that want a piece at the same time wait for one transfer.
func TestPiecesAtOnce(t *testing.T) {
	t.Parallel()
	_, f, url, asked := film(t, pieceBytes+1, nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if status, body, _ := fetch(t, "GET", url, ""); status != 200 || body != string(f.content) {
				t.Errorf("%d, %d bytes", status, len(body))
			}
		})
	}
	if all.Wait(); asked.Load() != 2 {
		t.Errorf("%d pieces fetched", asked.Load())
	}
}

// TestPiecesOfManyFiles: more clients than a rig may have transfers at once get their files whole,
// though others come between two pieces.
func TestPiecesOfManyFiles(t *testing.T) {
	t.Parallel()
	w, f, url, asked := film(t, 3*pieceBytes, nil)
	var all sync.WaitGroup
	for _, name := range []string{"video", "b", "c", "d", "e", "f"} {
		all.Go(func() {
			status, body, _ := fetch(t, "GET", strings.Replace(url, "video", name, 1), "")
			if status != 200 || body != string(f.content) {
				t.Errorf("%s: %d, %d bytes", name, status, len(body))
			}
		})
	}
	if all.Wait(); asked.Load() != 18 {
		t.Errorf("%d pieces fetched", asked.Load())
	}
	if n := len(w.hub.relays.files) + len(w.hub.rigs["a"].relaying); n > 0 {
		t.Errorf("%d places are taken afterwards", n)
	}
}

// TestPiecesOfSlowRig: a rig that sends nothing of a piece keeps no place once the client has left.
func TestPiecesOfSlowRig(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	s := httptest.NewServer(w.hub.Handler())
	t.Cleanup(s.Close)
	r := &pieceReader{rig: "a", from: "/api/v1/runs/x/y", size: pieceBytes, h: w.hub}
	var leave context.CancelFunc
	r.ctx, leave = context.WithCancel(t.Context())
	read := make(chan error, 1)
	go func() {
		_, err := r.Read(make([]byte, 1))
		read <- err
	}()
	var got wire.Relayed
	for len(got.Tickets) == 0 {
		answer := w.hub.handle(t.Context(), "a", "relay", []byte(`{"wait_ns":100000000}`))
		if err := json.Unmarshal(answer, &got); err != nil {
			t.Fatal(err)
		}
	}
	body, send := io.Pipe()
	post, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/fleet/v1/ticket/"+got.Tickets[0].ID, body)
	if err != nil {
		t.Fatal(err)
	}
	post.ContentLength = pieceBytes
	post.Header.Set(wire.StatusHeader, "206")
	post.Header.Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", pieceBytes-1, pieceBytes))
	go func() {
		if res, err := http.DefaultClient.Do(post); err == nil {
			res.Body.Close()
		}
	}()
	if _, err := send.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	arrived := func() bool {
		all := pieceFiles(t, w)
		if len(all) == 0 {
			return false
		}
		st, err := os.Stat(all[0])
		return err == nil && st.Size() > pieceHead
	}
	for deadline := time.Now().Add(time.Minute); !arrived(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the piece does not begin")
		}
	}
	leave()
	select {
	case err := <-read:
		if err == nil || len(w.hub.relays.files)+len(w.hub.rigs["a"].relaying) > 0 {
			t.Errorf("%v, %d places", err, len(w.hub.relays.files))
		}
	case <-time.After(30 * time.Second): // a minute without a byte ends it anyway
		t.Error("the piece is still awaited")
	}
	_ = send.Close() // never fails
}

// TestPiecesOfSeveralRanges: they are answered by the whole file.
func TestPiecesOfSeveralRanges(t *testing.T) {
	t.Parallel()
	_, f, url, _ := film(t, 1000, nil)
	status, body, _ := fetch(t, "GET", url, "", "Range", "bytes=0-1,5-6")
	if status != 200 || body != string(f.content) {
		t.Errorf("%d, %d bytes", status, len(body))
	}
}

// TestPiecesRefused: the rig's reason comes with its own status if nothing was sent before.
func TestPiecesRefused(t *testing.T) {
	t.Parallel()
	w, f, url, _ := film(t, 1000, nil)
	f.busy = true
	status, body, header := fetch(t, "GET", url, "", "Range", "bytes=0-")
	if status != 503 || body != "the rig measures now\n" || header.Get("Content-Range") != "" {
		t.Errorf("%d %q %v", status, body, header)
	}
	if left := pieceFiles(t, w); len(left) > 0 {
		t.Error(left)
	}
}

// TestPiecesOfChangedFile: a client never gets parts of two files. After one transfer that is
// aborted, the file is the rig's.
func TestPiecesOfChangedFile(t *testing.T) {
	t.Parallel()
	const size = pieceBytes + 1000
	for name, next := range map[string]int{"of another size": size - 10, "of equal size": size} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, f, url, _ := film(t, size, nil)
			if status, _, _ := fetch(t, "GET", url, "", "Range", "bytes=0-9"); status != 206 {
				t.Error(status)
			}
			f.set(randomBytes(2, next), `"2"`)
			if from := pieceBytes + 5; name == "of equal size" { // nothing of the old one was sent
				for _, at := range []int{from, 0} {
					status, body, _ := fetch(t, "GET", url, "", "Range", fmt.Sprintf("bytes=%d-%d", at, at+9))
					if status != 206 || body != string(f.content[at:at+10]) {
						t.Errorf("at %d: %d, %d bytes", at, status, len(body))
					}
				}
				f.set(randomBytes(3, next), `"3"`)
			}
			res, err := http.Get(url)
			if err == nil {
				_, err = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			if err == nil {
				t.Error("a file of two parts was sent whole")
			}
			for range 2 {
				if status, body, _ := fetch(t, "GET", url, ""); status != 200 || body != string(f.content) {
					t.Errorf("%d, %d bytes", status, len(body))
				}
			}
		})
	}
}

// TestPiecesLimit: pieces take no more than their limit. They leave space for the storage, and are
// deleted before a job is refused.
//
// Fault: Pieces of films fill the disk of a fleet's hub
func TestPiecesLimit(t *testing.T) {
	t.Parallel()
	const size = 4 * pieceBytes
	var free atomic.Int64
	free.Store(1 << 40)
	w, f, url, _ := film(t, size, func(o *Options) {
		o.MaxPieces, o.Quota = 3*pieceBytes, 1<<30
		o.Free = func() (int64, error) { return free.Load(), nil }
	})
	whole := func() {
		t.Helper()
		if status, body, _ := fetch(t, "GET", url, ""); status != 200 || body != string(f.content) {
			t.Errorf("%d, %d bytes", status, len(body))
		}
	}
	whole()
	if left := pieceFiles(t, w); len(left) != 2 || w.hub.pieces.bytes != 2*(pieceBytes+pieceHead) {
		t.Errorf("%d pieces of %d bytes", len(left), w.hub.pieces.bytes)
	}
	w.submit("s-1", api.JobParams{})
	if left := pieceFiles(t, w); len(left) != 2 {
		t.Errorf("%d pieces though the disk has space", len(left))
	}
	w.hub.o.Free = func() (int64, error) { return 2<<30 - int64(len(w.hub.pieces.all)-1)*pieceBytes, nil }
	w.submit("s-2", api.JobParams{})
	if left := pieceFiles(t, w); len(left) != 1 {
		t.Errorf("%d pieces, though one less is enough", len(left))
	}
	w.hub.o.Free = func() (int64, error) { return free.Load(), nil }
	free.Store(piecesFree<<30 - 1)
	whole()
	if left := pieceFiles(t, w); len(left) != 0 {
		t.Errorf("%d pieces on a full disk", len(left))
	}
}
