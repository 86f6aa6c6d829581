package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/store"
)

// TestLimitsAreTold holds the figures in API.md's table of limits against those that the code goes
// by.
func TestLimitsAreTold(t *testing.T) {
	_, table, _ := strings.Cut(readFile(t, specification), "\n## Limits\n")
	table, _, _ = strings.Cut(table, "\n<!--")
	row := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`).FindAllStringSubmatch(table, -1) {
		row[m[1]] = m[2] + " | " + m[3]
	}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%d s", int(d.Seconds())) }
	for what, figures := range map[string][]string{
		"message, body of a call": {fmt.Sprintf("%d MiB", api.MaxMessage>>20),
			fmt.Sprint(websocket.CloseMessageTooBig), fmt.Sprint(http.StatusRequestEntityTooLarge)},
		"nesting of a message": {fmt.Sprint(api.MaxNesting), fmt.Sprint(int(api.ParseError))},
		"calls in a batch": {fmt.Sprint(api.MaxBatch),
			fmt.Sprint(int(api.InvalidRequest))},
		"calls": {fmt.Sprintf("%d a second and %d at once", defaultCalls,
			callsAtOnce), fmt.Sprint(int(api.TooMany))},
		"websocket connections":                     {fmt.Sprint(defaultConnections)},
		"header of a request":                       {fmt.Sprintf("%d KiB", headerBytes>>10), seconds(headerTime)},
		"websocket client that says nothing":        {seconds(usualTimes.quiet), seconds(usualTimes.ping)},
		"names, labels, branches, revisions, notes": {fmt.Sprintf("%d bytes", api.MaxName)},
		"page of a list":                            {fmt.Sprint(api.MaxLimit), fmt.Sprint(store.MaxPoints)},
		"text of a search, of each parameter": {fmt.Sprintf("%d bytes", api.MaxQuery),
			fmt.Sprintf("%d words", api.MaxWords)},
		"connections of one address, beside websockets": {fmt.Sprint(maxOfOne)},
		"request with its body, but for a pushed zip":   {seconds(bodyTime)},
		"address of a page":                             {fmt.Sprintf("%d bytes", api.MaxURL)},
		"reservation":                                   {fmt.Sprintf("%d h", int(api.MaxReservation.Hours()))},
		"recording": {fmt.Sprintf("%d h", int(api.MaxRecording.Hours())),
			fmt.Sprintf("%s to %d min", seconds(api.MinKeepLast), int(api.MaxKeepLast.Minutes()))},
		"runs of a job": {"10,000", fmt.Sprintf("%d variants", api.MaxVariants)},
		"upload with a test": {fmt.Sprintf("%d files, %d MiB", api.MaxFiles,
			api.MaxUpload>>20), fmt.Sprintf("%d KiB", suite.MaxFile>>10)},
		"pushed zip": {fmt.Sprintf("%d GiB", int64(store.DefaultUpload)>>30), "413",
			fmt.Sprintf("%d KiB", minSpeed>>10), seconds(transferTime)},
		"events that are kept": {fmt.Sprint(daemon.MaxEvents)},
		"wrong tokens":         {"429"},
		"pictures of frames": {fmt.Sprintf("%d GiB", pictureMemory>>30),
			seconds(pictureWait), fmt.Sprint(errCrowded.status)},
		"recordings at once": {fmt.Sprint(int(api.TooMany))},
		"jobs that wait":     {fmt.Sprint(int(api.TooMany))},
	} {
		for _, figure := range figures {
			if !regexp.MustCompile(`(^|[^0-9,.])` + regexp.QuoteMeta(figure) + `($|[^0-9])`).MatchString(row[what]) {
				t.Errorf("%s: %q does not have %q", what, row[what], figure)
			}
		}
		delete(row, what)
	}
	delete(row, "what")
	delete(row, "---")
	for what := range row {
		t.Errorf("nothing is held against the row %q", what)
	}
}

// TestLimits: a value at a limit is accepted, and one above is rejected with a sentence that has
// the limit.
//
// Fault: Endless messages, garbage, half-open connections and floods
func TestLimits(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) {
		o.Compare = func(context.Context, string, string, CompareOptions) (*api.Compared, error) {
			return nil, errors.New("no")
		}
	})
	run := s.scene()
	// so that nothing begins
	if e := s.call("device.reserve", api.ReserveParams{Device: "local", ForNS: int64(api.MaxReservation)},
		nil); e != nil {
		t.Fatalf("%+v", e)
	}
	text := func(n int) string { return strings.Repeat("a", n) }
	words := func(n int) string { return strings.Repeat("a ", n) }
	array := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint("no", i))
		}
		return all
	}
	files := func(n, size int) any {
		all := map[string]string{"t.yaml": "name: t\nurl: https://example.org/\nend: still 1s\n"}
		for i := range n - 1 {
			all[fmt.Sprint(i)] = ""
		}
		all["0"] = text(size - len(all["t.yaml"]))
		return map[string]any{"test": "t.yaml", "files": all}
	}
	test := func(size int) any {
		head := "name: t\nurl: https://example.org/\nend: still 1s\n#"
		return map[string]any{"test": "t.yaml", "files": map[string]string{"t.yaml": head + text(size-len(head))}}
	}
	for _, tc := range []struct {
		method, name string
		with         map[string]any // beside the parameter that is looked at
		most, over   any
	}{
		{"run.start", "label", map[string]any{"test": "none"}, text(api.MaxName), text(api.MaxName + 1)},
		{"run.start", "label", map[string]any{"test": "none"}, "a label", "a\x1blabel"},
		{"run.start", "branch", map[string]any{"test": "none"}, text(api.MaxName), text(api.MaxName + 1)},
		{"run.start", "revision", map[string]any{"test": "none"}, text(api.MaxName), text(api.MaxName + 1)},
		{"run.start", "url", map[string]any{"devices": []string{"none"}}, "https://a.example/" + text(api.MaxURL-18),
			"https://a.example/" + text(api.MaxURL-17)},
		{"run.start", "repeat", map[string]any{"test": "scene", "reservation": "none"}, suite.MaxRuns,
			suite.MaxRuns + 1},
		{"run.start", "warm_up", map[string]any{"test": "scene", "reservation": "none"}, suite.MaxRuns,
			suite.MaxRuns + 1},
		{"run.start", "retries", map[string]any{"test": "scene", "reservation": "none"}, suite.MaxRuns,
			suite.MaxRuns + 1},
		{"run.start", "cooldown_ns", map[string]any{"test": "scene", "reservation": "none"}, suite.MaxDuration,
			suite.MaxDuration + 1},
		{"run.start", "max_lost", map[string]any{"test": "scene", "reservation": "none"}, 1, 1.001},
		{"run.start", "devices", map[string]any{"test": "scene"}, array(api.MaxVariants), array(api.MaxVariants + 1)},
		{"run.start", "upload", map[string]any{"devices": []string{"none"}}, files(api.MaxFiles, 1000),
			files(api.MaxFiles+1, 1000)},
		{"run.start", "upload", map[string]any{"devices": []string{"none"}}, files(2, api.MaxUpload),
			files(2, api.MaxUpload+1)},
		{"run.start", "upload", map[string]any{"devices": []string{"none"}}, test(suite.MaxFile),
			test(suite.MaxFile + 1)},
		{"run.list", "limit", nil, api.MaxLimit, api.MaxLimit + 1},
		{"set.list", "limit", nil, api.MaxLimit, api.MaxLimit + 1},
		{"run.list", "text", nil, text(api.MaxQuery), text(api.MaxQuery + 1)},
		{"run.list", "text", nil, words(api.MaxWords), words(api.MaxWords + 1)},
		{"set.list", "text", nil, words(api.MaxWords), words(api.MaxWords + 1)},
		{"set.list", "label", nil, text(api.MaxQuery), text(api.MaxQuery + 1)},
		{"trend", "limit", map[string]any{"test": "a", "measure": "b", "value": "c"}, store.MaxPoints,
			store.MaxPoints + 1},
		{"compare", "threshold", map[string]any{"base": "none", "with": "none"}, 10, 10.1},
		{"baseline.set", "name", map[string]any{"id": run}, text(64), text(65)},
		{"device.reserve", "for_ns", map[string]any{"device": "local"}, api.MaxReservation, api.MaxReservation + 1},
		{"device.reserve", "for_ns", map[string]any{"device": "local"}, 1, 0},
		{"device.reserve", "note", map[string]any{"device": "local", "for_ns": 1}, text(api.MaxName),
			text(api.MaxName + 1)},
		{"device.quarantine", "reason", map[string]any{"device": "local", "lift": true}, text(api.MaxName),
			text(api.MaxName + 1)},
		{"record.start", "label", map[string]any{"device": "local"}, text(api.MaxName), text(api.MaxName + 1)},
		{"record.start", "duration_ns", map[string]any{"device": "local"}, api.MaxRecording, api.MaxRecording + 1},
		{"record.start", "keep_last_ns", map[string]any{"device": "local"}, api.MaxKeepLast, api.MaxKeepLast + 1},
		{"record.start", "keep_last_ns", map[string]any{"device": "local"}, api.MinKeepLast, api.MinKeepLast - 1},
		{"record.keepLast", "label", map[string]any{"device": "local"}, text(api.MaxName), text(api.MaxName + 1)},
		{"analyze.start", "tolerance", map[string]any{"run": run}, 255, 256},
	} {
		ask := func(value any) *api.Error {
			params := map[string]any{tc.name: value}
			for k, v := range tc.with {
				params[k] = v
			}
			return s.call(tc.method, params, nil)
		}
		what := func(v any) string { return clip(fmt.Sprintf("%s, %s: %v", tc.method, tc.name, v)) }
		over := ask(tc.over)
		if over == nil || over.Code != api.InvalidParams || over.Message == "" {
			t.Errorf("%s: %+v", what(tc.over), over)
			continue
		}
		if e := ask(tc.most); e != nil && e.Message == over.Message || e != nil && e.Code == api.InvalidParams &&
			tc.with["reservation"] == nil {
			t.Errorf("%s is within the limit: %+v", what(tc.most), e)
		}
	}
}

// TestLargestMessage: the largest message is accepted. One byte more is rejected on both
// transports, and the client sees why.
//
// Fault: Endless messages, garbage, half-open connections and floods
func TestLargestMessage(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	most := askStatus + strings.Repeat(" ", api.MaxMessage-len(askStatus))
	if res, text := s.ask("POST", "/api/v1/rpc", most); res.StatusCode != 200 {
		t.Errorf("%d %s", res.StatusCode, clip(text))
	}
	if res, text := s.ask("POST", "/api/v1/rpc", most+" "); res.StatusCode != 413 ||
		!strings.Contains(text, fmt.Sprint(api.MaxMessage)) {
		t.Errorf("%d %s", res.StatusCode, clip(text))
	}
	s.logged("status=413")
	// the second is more than stays in the buffers of a connection
	for _, over := range []string{most + " ", strings.Repeat(most, 8)} {
		conn := s.socket()
		if r := talk(t, conn, most); r.Error != nil {
			t.Errorf("%+v", r.Error)
		}
		if err := conn.WriteMessage(websocket.TextMessage, []byte(over)); err != nil {
			t.Fatal(err)
		}
		var why *websocket.CloseError
		if _, _, err := conn.ReadMessage(); !errors.As(err, &why) || why.Code != websocket.CloseMessageTooBig {
			t.Errorf("by websocket: %v", err)
		}
		s.logged("client cut off")
	}
	for depth, want := range map[int]api.Code{api.MaxNesting: api.InvalidParams, api.MaxNesting + 1: api.ParseError} {
		e := s.call("rig.status", json.RawMessage(`{"a":`+strings.Repeat("[", depth-2)+strings.Repeat("]", depth-2)+
			`}`), nil)
		if e == nil || e.Code != want {
			t.Errorf("nesting of %d: %+v", depth, e)
		}
	}
	for calls, want := range map[int]int{api.MaxBatch: 200, api.MaxBatch + 1: 400} {
		if res, text := s.ask("POST", "/api/v1/rpc", "["+strings.Repeat(askStatus+",", calls-1)+askStatus+
			"]"); res.StatusCode != want {
			t.Errorf("%d calls: %d %s", calls, res.StatusCode, clip(text))
		}
	}
}

// TestHeaders: what a request has before its body is bounded too.
//
// Fault: Endless messages, garbage, half-open connections and floods
func TestHeaders(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	for size, want := range map[int]int{headerBytes - 1000: 200, headerBytes + 8<<10: 431} {
		if res, text := s.ask("POST", "/api/v1/rpc", askStatus, "X-Long",
			strings.Repeat("a", size)); res.StatusCode != want || text == "" {
			t.Errorf("%d bytes: %d %s", size, res.StatusCode, clip(text))
		}
	}
	s.logged("invalid or incomplete request")
	if res, text := s.ask("POST", "/api/v1/rpc", askStatus, "Content-Type", "text/plain"); res.StatusCode != 415 ||
		text == "" {
		t.Errorf("another type: %d %s", res.StatusCode, text)
	}
	if res, text := s.ask("POST", "/api/v1/login", `{"token": "x"}`, "Content-Type",
		"text/plain"); res.StatusCode != 415 || text == "" {
		t.Errorf("another type: %d %s", res.StatusCode, text)
	}
	if res, text := s.ask("POST", "/api/v1/login", strings.Repeat("a", 1<<20)); res.StatusCode != 400 || text == "" {
		t.Errorf("a long token: %d %s", res.StatusCode, text)
	}
}
