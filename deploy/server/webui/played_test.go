package webui

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
)

// played is a rig that is played: it answers as API.md says, from run folders and from runs that
// are only named. The page on the real rig is tested beside the command that serves it.
type played struct {
	*testing.T
	page http.Handler

	mu      sync.Mutex
	runs    []api.RunInfo // newest first
	folders map[string]string
	jobs    []api.Job
	trend   []api.Point

	trends    trends
	fleet     fleet
	baselines []api.Baseline
	seq       uint64
	clients   []*client
	asked     []string                                       // methods, in order
	started   json.RawMessage                                // parameters of the last job
	role      api.Role                                       // of who looks; "": admin
	more      func(dir string, found *runfolder.Found) error // of runs that are made; nil: nothing
	// a number of the future is refused, as by rigs that know no better
	strict bool
	down   bool // no websocket is taken
	unlike bool // runs that are compared were not measured alike
}

func newPlayed(t *testing.T) *played {
	return &played{T: t, page: Handler(), folders: map[string]string{}}
}

// client is a websocket.
type client struct {
	mu   sync.Mutex
	conn *websocket.Conn
	stop func() // the preview
}

func (c *client) send(kind int, message []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.conn.WriteMessage(kind, message) // it may have gone
}

func (p *played) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path, _ := strings.CutPrefix(r.URL.Path, "/api/v1/"); {
	case strings.HasPrefix(path, "/fleet/v1/"):
		p.fleetFile(w, r, strings.TrimPrefix(path, "/fleet/v1/"))
	case !strings.HasPrefix(r.URL.Path, "/api/"):
		p.page.ServeHTTP(w, r)
	case path == "login":
		fmt.Fprintf(w, `{"needed": false, "role": %q, "owner": "local"}`, cmp.Or(p.role, api.Admin))
	case path == "ws":
		p.socket(w, r)
	case path == "rpc":
		var call api.Request
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(p.answer(nil, &call))
	default:
		p.file(w, r, strings.TrimPrefix(path, "runs/"))
	}
}

func (p *played) socket(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	down := p.down
	p.mu.Unlock()
	if down {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	var up websocket.Upgrader
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &client{conn: conn, stop: func() {}}
	p.mu.Lock()
	p.clients = append(p.clients, c)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		c.stop()
		p.mu.Unlock()
		_ = conn.Close()
	}()
	for {
		var call api.Request
		if conn.ReadJSON(&call) != nil {
			return
		}
		answer, err := json.Marshal(p.answer(c, &call))
		if err != nil {
			p.Error(err)
		}
		c.send(websocket.TextMessage, answer)
	}
}

// say sends an event to all clients.
func (p *played) say(e api.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq++
	e.Seq, e.TimeWallNS = p.seq, time.Now().UnixNano()
	params, err := json.Marshal(e)
	if err != nil {
		p.Error(err)
	}
	message, err := json.Marshal(api.Notification{Version: api.JSONRPC, Method: api.EventMethod, Params: params})
	if err != nil {
		p.Error(err)
	}
	for _, c := range p.clients {
		c.send(websocket.TextMessage, message)
	}
}

// awaitAsked waits until a method was called.
func (p *played) awaitAsked(method string) {
	p.Helper()
	for end := time.Now().Add(patience / 8); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		asked := slices.Contains(p.asked, method)
		p.mu.Unlock()
		if asked {
			return
		}
	}
	p.Errorf("%s was not called", method)
}

func (p *played) answer(c *client, call *api.Request) api.Response {
	answer := api.Response{Version: api.JSONRPC, ID: call.ID}
	p.mu.Lock()
	p.asked = append(p.asked, call.Method)
	p.mu.Unlock()
	result, problem := p.do(c, call)
	if problem != nil {
		answer.Error = problem
		return answer
	}
	raw, err := json.Marshal(result)
	if err != nil {
		p.Error(err)
	}
	answer.Result = raw
	return answer
}

// do carries a call out.
func (p *played) do(c *client, call *api.Request) (any, *api.Error) {
	var params struct {
		Run, Test, Text, State, Verdict, Set, Cursor, Label, Device string
		Pinned                                                      bool
		Limit                                                       int
		Devices, Browsers                                           []string
		Base, With, Name, ID                                        string
		FromSeq                                                     *uint64 `json:"from_seq"`
		JudgeUnlike                                                 bool    `json:"judge_unlike"`
	}
	if len(call.Params) > 0 {
		if err := json.Unmarshal(call.Params, &params); err != nil {
			return nil, api.Errorf(api.InvalidParams, "%v", err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch call.Method {
	case "rig.status":
		return api.Status{Program: "eideticker (test)", Host: "rack-7", NowWallNS: 9e12, StartedWallNS: 1e12,
			State: "running", Role: api.Admin, Owner: "local", Devices: devices(), Jobs: []api.Job{}, Clients: 1,
			Store: api.Space{UsedBytes: 40 << 30, FreeBytes: 100 << 30, MaxBytes: 120 << 30, Runs: len(p.runs)}}, nil
	case "device.list":
		return api.DeviceList{Devices: devices()}, nil
	case "suite.list":
		return api.Tests{Tests: []api.Test{
			{Name: "framerate", About: "a page that draws as often as it can", Standard: true,
				Measures: []string{"fps", "tearing"}},
			{Name: "load", About: "a page that loads in steps, with pictures late", Standard: true,
				Measures: []string{}, Repeat: 3},
			{Name: "shop-front", About: "the shop's first page, replayed", Measures: []string{"speedindex"}},
		}, Problems: []api.TestProblem{
			{File: "broken.yaml", Line: 3, Column: 1, Problem: "there is no key \"stepz\"; perhaps steps?"}},
			Networks: []string{"3g", "cable"}, Policies: []api.TestPolicy{
				{Name: "errors", Meaning: "Uncaught errors."}, {Name: "calls", Meaning: "Times of every call."}}}, nil
	case "suite.get":
		return api.Test{Name: params.Test, Text: "name: " + params.Test + "\npage: /load.html\n"}, nil
	case "suite.schema":
		return json.RawMessage(suite.Schema()), nil
	case "suite.check":
		var asked api.CheckParams
		if err := json.Unmarshal(call.Params, &asked); err != nil {
			return nil, api.Errorf(api.InvalidParams, "%v", err)
		}
		name := asked.Upload.Test
		t, err := suite.Parse(name, []byte(asked.Upload.Files[name]), session.Known())
		if wrong := (*suite.Error)(nil); errors.As(err, &wrong) {
			return api.Checked{Problems: []api.TestProblem{{File: name, Line: wrong.Line, Column: wrong.Column,
				Problem: wrong.Problem}}}, nil
		}
		return api.Checked{Name: t.Name, Problems: []api.TestProblem{}}, nil
	case "job.get":
		var asked api.JobID
		if err := json.Unmarshal(call.Params, &asked); err != nil {
			return nil, api.Errorf(api.InvalidParams, "%v", err)
		}
		for _, j := range p.jobs {
			if j.ID == asked.Job {
				return j, nil
			}
		}
		return nil, api.Errorf(api.NotFound, "unknown job %q", asked.Job)
	case "job.list":
		return api.Jobs{Jobs: append([]api.Job{}, p.jobs...)}, nil
	case "run.start":
		p.started = call.Params
		j := api.Job{ID: "20261121-201530-" + params.Test + "-k7f2", Kind: "run", State: "running", Owner: "local",
			Test: params.Test, Label: params.Label, Devices: params.Devices, Browsers: params.Browsers, Total: 2,
			Runs: []api.Made{}}
		p.jobs = append(p.jobs, j)
		go p.play(j)
		return j, nil
	case "run.cancel":
		return p.jobs[0], nil
	case "run.list":
		return p.list(params.Text, params.Test, params.State, params.Verdict, params.Set, params.Cursor, params.Limit),
			nil
	case "run.get":
		for _, r := range p.runs {
			if r.ID == params.Run {
				return api.RunDetail{RunInfo: r, Files: files(p.folders[r.ID])}, nil
			}
		}
		return nil, api.Errorf(api.NotFound, "there is no run %q", params.Run)
	case "run.delete":
		p.runs = slices.DeleteFunc(p.runs, func(r api.RunInfo) bool { return r.ID == params.Run })
		go p.say(api.Event{Kind: "store", Store: &api.Change{ID: params.Run, What: "deleted"}})
		return api.Deleted{Run: params.Run}, nil
	case "run.pin":
		return api.PinParams{Run: params.Run, Pinned: params.Pinned}, nil
	case "set.list":
		sets := api.Sets{Sets: []api.SetInfo{}}
		for _, r := range p.runs[:min(len(p.runs), 20)] {
			sets.Sets = append(sets.Sets, api.SetInfo{ID: r.ID, Test: r.Test, Runs: 1, OK: 1,
				StartedWallNS: r.StartedWallNS})
		}
		return sets, nil
	case "trend":
		return api.Trend{Unit: "frames/s", Points: p.trend}, nil
	case "compare":
		c := compared(params.Base, params.With)
		if strings.HasSuffix(params.Base, "-plain") && params.Base == params.With+"-plain" {
			c.Comparison = []byte(`{"cost": true, "measures": [], "answer": "Cost of the profile (` +
				params.With[strings.LastIndexByte(params.With, '~')+1:] + `): −1 %."}`)
		}
		if p.unlike && !params.JudgeUnlike {
			c.Outcome = "inconclusive"
			c.Comparison = []byte(`{"withheld": "A and B were not measured alike", ` + string(c.Comparison[1:]))
		}
		return c, nil
	case "baseline.list":
		return api.Baselines{Baselines: append([]api.Baseline{}, p.baselines...)}, nil
	case "baseline.set":
		p.baselines = slices.DeleteFunc(p.baselines, func(b api.Baseline) bool { return b.Name == params.Name })
		if params.ID != "" {
			p.baselines = append(p.baselines, api.Baseline{Name: params.Name, ID: params.ID})
		}
		return api.Baselines{Baselines: append([]api.Baseline{}, p.baselines...)}, nil
	case "subscribe":
		future := params.FromSeq != nil && *params.FromSeq > p.seq
		if future && p.strict {
			return nil, api.Errorf(api.InvalidParams, "from_seq is %d, and the latest event has %d", *params.FromSeq,
				p.seq)
		}
		return api.Subscribed{Seq: p.seq, Missed: future}, nil
	case "preview.start":
		if params.Device == "gone" {
			return nil, api.Errorf(api.NotFound, "unknown device %q", params.Device)
		}
		c.preview(params.Device)
		return api.PreviewStarted{Device: params.Device, MaxWidth: api.PreviewWidth, MaxRate: api.PreviewRate}, nil
	case "preview.stop":
		c.stop()
		return api.Empty{}, nil
	}
	if answer, problem, is := p.fleet.do(call); is {
		return answer, problem
	}
	return p.doTrends(call)
}

// list answers run.list; a cursor is how many were told.
func (p *played) list(text, test, state, verdict, set, cursor string, limit int) api.Runs {
	var like []api.RunInfo
	for _, r := range p.runs {
		if (test == "" || r.Test == test) && (state == "" || r.State == state) &&
			(verdict == "" || r.Verdict == verdict) && (set == "" || r.Set == set) &&
			strings.Contains(strings.ToLower(r.ID+r.Test+r.Browser+r.Label+r.Branch), strings.ToLower(text)) {
			like = append(like, r)
		}
	}
	from, _ := strconv.Atoi(cursor)
	to := min(len(like), from+max(limit, 1))
	page := api.Runs{Runs: append([]api.RunInfo{}, like[min(from, len(like)):to]...), Total: len(like)}
	if to < len(like) {
		page.Next = strconv.Itoa(to)
	}
	return page
}

// play has a job go on.
func (p *played) play(j api.Job) {
	p.say(api.Event{Kind: "job", Job: &j}) // it may come before the answer to its caller
	p.mu.Lock()                            // a page that asks later has it from there
	p.jobs[len(p.jobs)-1].Phase = &api.Phase{Name: "running the test", Run: "1 of 2", Done: 180, Total: 240,
		EstimateNS: 1e9}
	p.mu.Unlock()
	for done := range 4 {
		p.say(api.Event{Kind: "phase", JobID: j.ID, Phase: &api.Phase{Name: "running the test", Run: "1 of 2",
			Done: done * 60, Total: 240, EstimateNS: int64(4-done) * 1e9}})
	}
}

// preview sends pictures of a device until the client stops them or goes.
func (c *client) preview(device string) {
	c.stop()
	ended := make(chan struct{})
	c.stop = sync.OnceFunc(func() { close(ended) })
	go func() {
		tick := time.NewTicker(time.Second / api.PreviewRate)
		defer tick.Stop()
		for n := 0; ; n++ {
			m := image.NewRGBA(image.Rect(0, 0, 640, 360))
			for i := range m.Pix {
				m.Pix[i] = byte(i/2560 + n)
			}
			for x := range 60 {
				for y := range 60 {
					m.Set(40*n%580+x, 150+y, color.RGBA{240, 180, 60, 255})
				}
			}
			c.picture(device, m)
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	}()
}

// picture sends one of a device.
func (c *client) picture(device string, m image.Image) {
	info, err := json.Marshal(api.PictureInfo{Device: device})
	var b bytes.Buffer
	if err = errors.Join(err, jpeg.Encode(&b, m, nil)); err != nil {
		panic(err) // cannot be: it is ours
	}
	comment := append(binary.BigEndian.AppendUint16([]byte{0xff, 0xfe}, uint16(2+len(info))), info...)
	c.send(websocket.BinaryMessage, slices.Insert(b.Bytes(), 2, comment...))
}

func devices() []api.Device {
	return []api.Device{
		{Name: "local", About: "a browser on a virtual display of this machine", Source: "x11", Input: "x11",
			Browsers: []string{"chromium", "firefox"}, State: "running", Job: "20261121-201530-load-k7f2",
			Signal: &api.Signal{Width: 1280, Height: 720, PixelFormat: "BGR4", PeriodNS: 16666640},
			Capture: &api.Capture{Frames: 12345, Lost: 2, Bytes: 1 << 31, RingFill: 0.17, Encoding: 0.41,
				ElapsedNS: 205e9}},
		{Name: "bench", About: "a laptop below a capture card", Source: "v4l2:/dev/capture/1", Input: "hid:/dev/hidg1",
			Browsers: []string{"chromium"}, Power: true, State: "reserved",
			Signal: &api.Signal{Width: 1920, Height: 1080, PixelFormat: "YUYV", PeriodNS: 16683350},
			Reserved: &api.Reservation{Owner: "ci", Note: "new cable",
				UntilWallNS: time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC).UnixNano()}},
		{Name: "pixel7-03", Source: "v4l2:/dev/capture/3", Input: "hid:/dev/hidg3", Browsers: []string{"chrome"},
			Power: true, State: "quarantined", Quarantine: "three runs in a row have failed: no signal", Failures: 3},
	}
}

// compared is what a rig says of two runs.
func compared(a, b string) api.Compared {
	const measure = `{"name": "%[1]s.%[2]s", "window": "", "measure": "%[1]s", "value": "%[2]s", "unit": "%[3]s",
		"primary": %[4]v, "family": "%[5]s", "verdict": "%[6]s", "sentence": "%[7]s",
		"a": {"values": [{"run": "1", "value": %[8]v}], "text": "%[8]v %[3]s",
			"median": {"estimate": %[8]v, "low": null, "high": null, "confidence": null}},
		"b": {"values": [{"run": "2", "value": %[9]v}], "text": "%[9]v %[3]s",
			"median": {"estimate": %[9]v, "low": null, "high": null, "confidence": null}}}`
	all := strings.Join([]string{
		fmt.Sprintf(measure, "fps", "framerate", "frames/s", true, "primary", "regressed",
			"B draws 12 % fewer frames a second than A; with 6 runs each that is no chance (p = 0.004).", 60, 52.8),
		fmt.Sprintf(measure, "fps", "longest_freeze", "ms", true, "primary", "inconclusive",
			"One run each cannot say whether that is chance; some 6 runs of each would.", 33.4, 50.1),
		fmt.Sprintf(measure, "tearing", "torn_frames", "frames", false, "second", "unchanged", "None in either.", 0, 0),
	}, ",")
	return api.Compared{Base: a, With: b, Outcome: "regressed", Sentence: "fps.framerate is 12 % lower.",
		Comparison: json.RawMessage(
			`{"answer": "B is worse than A: fps.framerate: slower by 12 %.", "alike": false,
			 "environment_differences": [
				{"name": "browser", "a": ["Chromium 147"], "b": ["Chromium 148"]}],
				"test": "bounds of single runs, without statistics", "level": 0.05,
				"families": {"primary": 2, "second": 1},
				"warnings": ["one run each: what is said rests on the bounds of single values"],
				"a": {}, "b": {}, "measures": [` + all + `]}`)}
}

func files(dir string) []api.File {
	all := []api.File{}
	if dir == "" {
		return all
	}
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				name, _ := filepath.Rel(dir, path)
				all = append(all, api.File{Name: filepath.ToSlash(name), Bytes: info.Size()})
			}
		}
		return nil
	})
	return all
}

// file serves the files below runs/.
func (p *played) file(w http.ResponseWriter, r *http.Request, name string) {
	id, name, _ := strings.Cut(name, "/")
	p.mu.Lock()
	dir, there := p.folders[id]
	p.mu.Unlock()
	if !there {
		http.Error(w, "there is no such run", http.StatusNotFound)
		return
	}
	frame, isFrame := strings.CutPrefix(name, "frames/")
	if !isFrame && name != "events.json" {
		http.ServeFileFS(w, r, os.DirFS(dir), name)
		return
	}
	rec, err := recording.Open(filepath.Join(dir, "recording.eid"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer rec.Close()
	if isFrame {
		n, _ := strconv.Atoi(strings.TrimSuffix(frame, ".png"))
		m, err := rec.Image(n)
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "image/png")
		if err := render.WritePNG(w, m); err != nil {
			p.Log(err)
		}
		return
	}
	events := []map[string]any{}
	for n := range rec.Events() {
		e, err := rec.Event(n)
		if err != nil {
			p.Log(err)
		}
		events = append(events, map[string]any{"at_ns": e.At, "uncertainty_ns": e.Uncertainty.Nanoseconds(),
			"source": e.Source, "kind": e.Kind, "data": e.Data})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"events": events})
}
