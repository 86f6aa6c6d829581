package bus

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Fault: A hub has the storage of the first version
//
// All jobs are there, also after a kill in the middle of the move. Deleted ones stay deleted.
func TestMoveJobs(t *testing.T) {
	ctx := context.Background()
	o := ServerOptions{Dir: t.TempDir(), Quota: 64 << 20, Keys: keysOf(t, newAuthority(t))}
	s := serve(t, o)
	if _, err := s.js.CreateStream(ctx, jetstream.StreamConfig{Name: Jobs, Subjects: []string{"store.jobs.*"},
		MaxBytes: o.Quota / 4}); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*nats.Msg{
		{Subject: "store.jobs.s-a", Data: []byte("1")},
		{Subject: "store.jobs.s-a", Data: []byte("2")},
		{Subject: "store.jobs.s-b", Data: []byte("3")},
		{Subject: "store.jobs.s-gone", Data: []byte("4")},
		{Subject: "store.jobs.s-gone", Header: nats.Header{deletedHeader: {"1"}}},
	} {
		if _, err := s.js.PublishMsg(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	mustPut(t, s.Bucket(Jobs), "s-b", "moved and changed", 0)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = serve(t, o)
		all, err := s.Bucket(Jobs).All(ctx)
		if err != nil || len(all) != 2 {
			t.Fatalf("jobs are %v, %v", all, err)
		}
		for _, e := range all {
			if want := map[string]string{"s-a": "2", "s-b": "moved and changed"}[e.Key]; string(e.Value) != want {
				t.Errorf("%s is %q, want %q", e.Key, e.Value, want)
			}
		}
		if _, err := s.js.Stream(ctx, Jobs); err == nil {
			t.Error("the old stream is still there")
		}
	}
}
