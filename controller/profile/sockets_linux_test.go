package profile

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/sockets"
	ebpf "github.com/eideticker/eideticker/controller/profile/sockets"
)

// TestSocketCallsOfAProgram records curl, and reads the trace in the folder of the run.
func TestSocketCallsOfAProgram(t *testing.T) {
	body := bytes.Repeat([]byte("eideticker "), 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(body)
	}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), activity.TracesDir)
	s, err := Open(t.Context(), Options{Sockets: true, Dir: dir})
	var lacking *ebpf.MissingError
	if errors.As(ebpf.Check(), &lacking) && (lacking.Kernel || os.Getenv("CI") != "true") {
		var missing *missingError
		if !errors.As(err, &missing) || missing.Engine != "sockets" {
			t.Errorf("error %v, want that of missing sockets", err)
		}
		t.Skipf("cannot record here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command("curl", "-s", server.URL)
	cmd.Stdout = &out
	if err := s.Start(nil)(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	infos, err := s.Convert(t.Context(), "0a")
	if err != nil || len(infos) != 1 || s.Failed() != nil {
		t.Fatal(infos, err, s.Failed())
	}
	info := infos[0]
	if info.Name != "sockets" || info.Recording != "0a" || info.Lost != 0 || len(info.Skipped)+len(info.Warnings) > 0 ||
		info.Events == 0 {
		t.Errorf("info: %+v", info)
	}
	trace, err := activity.Open(filepath.Join(dir, "sockets"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = trace.Close() }()
	events := 0
	for e, err := range trace.Events(info.BeginNS, info.EndNS) {
		if err != nil {
			t.Fatal(err)
		}
		events++
		thread, f := trace.Threads()[e.Thread], trace.Functions()[e.Ref]
		t.Logf("%9d ns %s/%d: %s, %d ns", e.At-info.BeginNS, thread.Name, thread.ID, f.Name, e.Value)
		if e.Kind != activity.Slice || int(thread.Process) != cmd.Process.Pid ||
			!strings.HasPrefix(thread.ProcessName, "curl") || e.At < thread.Start {
			t.Errorf("event %+v of thread %+v", e, thread)
		}
	}
	if int64(events) != info.Events {
		t.Errorf("%d events, want %d", events, info.Events)
	}
	raw, err := os.Open(filepath.Join(dir, "sockets", activity.RawDir, sockets.RawFile))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	table, err := sockets.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	var received int64
	for i := range table.Calls {
		if table.Calls[i].Name.Receives() && table.Calls[i].Socket >= 0 &&
			table.Sockets[table.Calls[i].Socket].Internet() {
			received += table.Calls[i].Bytes()
		}
	}
	if out.Len() != len(body) || received <= int64(len(body)) {
		t.Errorf("curl printed %d of %d bytes, and received %d", out.Len(), len(body), received)
	}
}
