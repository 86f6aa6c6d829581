package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestNetsimStreams: without privileges, a port of this machine is a server over a line: all of it
// comes, no sooner than two round trips let it, until it is told to end.
func TestNetsimStreams(t *testing.T) {
	body := strings.Repeat("it is there\n", 10_000)
	server := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, body) }))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told, tell := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"netsim", "link", "--stream", "--rtt", "60ms", "--forward",
			"0=" + server.Listener.Addr().String()}, strings.NewReader(""), io.Discard, tell)
		tell.Close()
	}()
	first := make([]byte, 200)
	n, err := told.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	where := regexp.MustCompile(`^127\.0\.0\.1:\d+`).Find(first[:n])
	began := time.Now()
	answer, err := http.Get("http://" + string(where))
	if err != nil {
		t.Fatalf("%s: %v", first[:n], err)
	}
	got, err := io.ReadAll(answer.Body)
	if took := time.Since(began); err != nil || string(got) != body || took < 120*time.Millisecond {
		t.Errorf("%d bytes of %d after %v, %v", len(got), len(body), took, err)
	}
	answer.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	cancel()
	rest, err := io.ReadAll(told)
	if err != nil || !bytes.Contains(rest, []byte("cable, approximately; down ")) ||
		bytes.Contains(rest, []byte("down 0 packets")) {
		t.Errorf("%s, %v", rest, err)
	}
	if c := <-code; c != exitOK {
		t.Errorf("exit code %d", c)
	}
}
