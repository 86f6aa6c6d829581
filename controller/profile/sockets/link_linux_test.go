//go:build linux && (amd64 || arm64) && !rigvm

package sockets_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/sockets"
	record "github.com/eideticker/eideticker/controller/profile/sockets"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/serve"
)

// TestReadsAreJoinedToTheLink loads two files over one connection of a test network.
func TestReadsAreJoinedToTheLink(t *testing.T) {
	recordable(t)
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a packet link takes root")
	}
	const rtt = 400 * time.Millisecond
	var conditions link.Conditions
	conditions.SetRTT(rtt)
	conditions.Down.Rate, conditions.Up.Rate = 20e6, 20e6
	n, err := testnet.Open(testnet.Options{Conditions: conditions, Seed: 1, Names: []string{"*.test"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	server, err := serve.New(serve.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 100_000))
	})})
	if err != nil {
		t.Fatal(err)
	}
	l, err := n.Listen("80")
	if err != nil {
		t.Fatal(err)
	}
	server.HTTP(l)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	var file bytes.Buffer
	r, err := record.Open(&file, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command("curl", "-sS", "-4", "http://a.test/1?secret", "http://a.test/2")
	cmd.Stdout, cmd.Stderr = &out, &out
	r.Prepare(cmd)
	if err := n.Link.Device.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || out.Len() != 200_000 {
		t.Fatalf("curl: %v: %d bytes", err, out.Len())
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	table, err := sockets.Decode(&file)
	if err != nil {
		t.Fatal(err)
	}
	evidence := n.Evidence(0)
	evidence.Connections, evidence.Exchanges = server.Witnessed()
	fall := har.New(evidence)
	got := table.Requests(fall)
	if len(got) != 2 {
		t.Fatalf("requests %+v, want two", got)
	}
	for i, url := range []string{"http://a.test/1", "http://a.test/2"} {
		q := got[i]
		if q.URL != url || q.Socket < 0 || q.Call < 0 || !fall.Requests[i].Ended.Exact() ||
			q.Read != table.Calls[q.Call].End || q.Link <= 0 || q.Link > q.Read {
			t.Errorf("request %+v, want %s with its call", q, url)
		}
		// The packet is handed to the device, then its socket gets the bytes, then the call returns.
		if q.Arrived != 0 && (q.Arrived < q.Link || q.Arrived > q.Read) {
			t.Errorf("the socket had the bytes at %d, not between link %d and read %d", q.Arrived, q.Link, q.Read)
		}
	}
	// curl polled for the answer for most of a round trip. It may be off the CPU before it polls.
	found := false
	for _, w := range table.Waits(fall, nil, func(activity.Thread) int { return 0 }) {
		t.Logf("%+v", w)
		found = found || w.Request == got[0].URL && w.EndNS-w.BeginNS >= int64(rtt*3/4) && w.LinkNS > 0
	}
	if !found {
		t.Error("the wait for the first request is missing")
	}
	// A recording that is measured again has the same requests.
	again, w := io.Pipe()
	go func() { _ = w.CloseWithError(fall.Write(w, har.Options{})) }()
	read, err := har.ReadWaterfall(again)
	if err != nil {
		t.Fatal(err)
	}
	if now := table.Requests(read); !reflect.DeepEqual(now, got) {
		t.Errorf("requests of the file are %+v, want %+v", now, got)
	}
}
