package agent_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/fingerprint"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/fleet/agent"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/deploy/store"
)

// hub is a scripted one. It outlives the rigs that are killed.
type hub struct {
	*httptest.Server
	fleet agent.Fleet

	mu      sync.Mutex
	polled  wire.Polled // the answer but for results
	uploads map[string]string
	files   []wire.Ticket
	received
}

// received is the content of the requests of a rig.
type received struct {
	poll    wire.Poll // the last one
	polls   int
	results map[string]wire.Ended
	light   map[string][]byte
	relayed map[string]*http.Request
	bodies  map[string]string
	wrong   []string
}

func newHub(t *testing.T) *hub {
	h := &hub{uploads: map[string]string{}, polled: wire.Polled{Epoch: 3}, received: received{
		results: map[string]wire.Ended{}, light: map[string][]byte{}, relayed: map[string]*http.Request{},
		bodies: map[string]string{}}}
	h.Server = httptest.NewTLSServer(h)
	t.Cleanup(h.Close)
	h.fleet = agent.Fleet{Hub: h.URL, Fingerprint: fingerprint.Of(h.Certificate().Raw), Rig: "lab-07",
		Path: "/fleet/v1/nats"}
	return h
}

// desire sets the desired attempts.
func (h *hub) desire(all ...wire.Assignment) {
	h.set(func() { h.polled.Desired = all })
}

func (h *hub) set(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
}

// now returns a copy of what was received so far: a rig goes on polling.
func (h *hub) now() received {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.received
	out.results, out.light = maps.Clone(h.results), maps.Clone(h.light)
	out.relayed, out.bodies, out.wrong = maps.Clone(h.relayed), maps.Clone(h.bodies), slices.Clone(h.wrong)
	return out
}

// ServeHTTP implements http.Handler.
func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a killed rig sends a part
	h.mu.Lock()
	defer h.mu.Unlock()
	switch what := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]; {
	case what == "poll":
		_ = json.NewEncoder(w).Encode(h.answer(body))
	case what == "ask":
		var q wire.Ask
		_ = json.Unmarshal(body, &q)
		_ = json.NewEncoder(w).Encode(wire.Asked{Upload: json.RawMessage(h.uploads[q.Upload])})
	case what == "relay":
		h.mu.Unlock()
		time.Sleep(20 * time.Millisecond) // a rig asks again at once
		h.mu.Lock()
		_ = json.NewEncoder(w).Encode(wire.Relayed{Tickets: h.files})
		h.files = nil
	case strings.HasPrefix(what, "light-"):
		id := strings.TrimPrefix(what, "light-")
		id = strings.ReplaceAll(id, "_", ".")
		if int64(len(body)) != r.ContentLength {
			return // the rig was killed
		}
		if before, is := h.light[id]; is && !bytes.Equal(before, body) {
			h.wrong = append(h.wrong, "the light folder of "+id+" has changed")
		}
		h.light[id] = body
	default:
		h.relayed[what], h.bodies[what] = r, string(body)
	}
}

func (h *hub) answer(body []byte) wire.Polled {
	var p wire.Poll
	if err := json.Unmarshal(body, &p); err != nil {
		h.wrong = append(h.wrong, err.Error())
	}
	h.poll = p
	h.polls++
	out := h.polled
	for _, e := range p.Ended {
		if before, is := h.results[e.Attempt]; is && (before.State != e.State || len(before.Runs) != len(e.Runs)) {
			h.wrong = append(h.wrong, fmt.Sprintf("%+v was reported, then %+v", before, e))
		}
		if e.Light != nil && h.light[e.Attempt] == nil {
			out.Light = append(out.Light, wire.Ticket{ID: "light-" + strings.ReplaceAll(e.Attempt, ".", "_"),
				Attempt: e.Attempt})
			continue
		}
		h.results[e.Attempt] = e
		out.Acknowledged = append(out.Acknowledged, e.Attempt)
	}
	return out
}

// httpBus is the bus of a rig of such a hub.
type httpBus struct {
	hub    agent.Fleet
	client *http.Client
}

func (b httpBus) Request(ctx context.Context, kind string, request []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.hub.Hub+"/"+kind, bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	res, err := b.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}
func (httpBus) Woken() <-chan struct{}   { return nil }
func (httpBus) Connected() (bool, error) { return true, nil }
func (httpBus) Close() error             { return nil }

// rig is what an agent needs.
func options(dir string, s *store.Store, q agent.Queue, devices func() []api.Device) agent.Options {
	return agent.Options{Dir: dir, Queue: q, Devices: devices, Program: "test",
		Dial: func(f agent.Fleet, _ []byte, _ func() (string, error)) (agent.Bus, error) {
			return httpBus{f, agent.PinnedClient(f.Fingerprint)}, nil
		},
		Open: func(set string) (*os.Root, func(), error) {
			release, err := s.Use(set)
			if errors.Is(err, store.ErrNotFound) {
				err = fs.ErrNotExist
			}
			if err != nil {
				return nil, nil, err
			}
			root, err := s.Folder(set)
			return root, release, err
		},
		Poll: 50 * time.Millisecond, Look: 10 * time.Millisecond}
}

// start runs an agent until stop, or the end of the test.
func start(t *testing.T, o agent.Options) (a *agent.Agent, stop func()) {
	t.Helper()
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- a.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return a, stop
}

func (h *hub) until(t *testing.T, r *daemontest.Rig, what string, is func() bool) {
	t.Helper()
	r.Until(what, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return is()
	})
}

// assignment is an attempt with one run of a scene.
func assignment(id string) wire.Assignment {
	all := 1.0
	return wire.Assignment{Attempt: id, Owner: "ci", Class: api.ClassCheck, Params: api.StartParams{Test: "scene",
		Devices: []string{"a"}, Repeat: 1, MaxLost: &all, NoVideo: true}}
}

func names(t *testing.T, content []byte) (all []string) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		all = append(all, f.Name)
	}
	slices.Sort(all)
	return all
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
