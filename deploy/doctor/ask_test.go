//go:build linux

package doctor

import (
	"errors"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/eideticker/eideticker/deploy/config"
)

func TestParseState(t *testing.T) {
	got := parseState("LoadState=loaded\nActiveState=active\nResult=\nnothing\n")
	if want := map[string]string{"LoadState": "loaded", "ActiveState": "active", "Result": ""}; !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A unit of the administrator's own counts too.
func TestInstalled(t *testing.T) {
	for path, want := range map[string]bool{
		"etc/systemd/system/eideticker.service": true, "usr/lib/systemd/system/eideticker.service": true,
		"lib/systemd/system/eideticker.service": true,
		"usr/lib/systemd/system/other.service":  false,
	} {
		if got := installed(fstest.MapFS{path: {}}); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// The kernel of this machine tells whether its time of day is kept, and what this user may open.
func TestKernelTells(t *testing.T) {
	if s := clockSyncNow(); s.Known && s.MaxError < 0 {
		t.Errorf("%+v", s)
	}
	if err := access(t.TempDir()); err != nil {
		t.Error(err)
	}
	if access(t.TempDir()+"/missing") == nil {
		t.Error("what is not there can be opened")
	}
}

// A rig is asked whether it is well, encrypted or not, and by its own account.
func TestAskRig(t *testing.T) {
	for _, encrypted := range []bool{false, true} {
		var status atomic.Int64
		status.Store(http.StatusOK)
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/healthz" {
				t.Errorf("it was asked for %s", r.URL)
			}
			w.WriteHeader(int(status.Load()))
			_, _ = w.Write([]byte("the disk is full"))
		}))
		server.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs clients without encryption
		if encrypted {
			server.StartTLS()
		} else {
			server.Start()
		}
		defer server.Close()
		at := netip.MustParseAddrPort(server.Listener.Addr().String())
		everywhere := netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port())
		if err := errors.Join(askRig(t.Context(), at, encrypted),
			askRig(t.Context(), everywhere, encrypted)); err != nil {
			t.Errorf("encrypted %v: %v", encrypted, err)
		}
		if askRig(t.Context(), at, !encrypted) == nil {
			t.Errorf("encrypted %v: it answers who is not", encrypted)
		}
		status.Store(http.StatusServiceUnavailable)
		if err := askRig(t.Context(), at, encrypted); err == nil || !strings.Contains(err.Error(), "disk is full") {
			t.Errorf("a rig that is not well: %v", err)
		}
		server.Close()
		if askRig(t.Context(), at, encrypted) == nil {
			t.Error("a rig that is gone answers")
		}
	}
}

func TestAskCluster(t *testing.T) {
	for _, tc := range []struct {
		name, answer string
		syncs, fails bool
	}{
		{"synced", `{"server_name":"n0","jetstream":{"config":{"store_dir":"x","sync_always":true}}}`, true, false},
		{"not synced", `{"server_name":"n0","jetstream":{"config":{"sync_interval":120000000000}}}`, false, false},
		{"no JetStream", `{"server_name":"n0"}`, false, false},
		{"endless", `{"server_name":"` + strings.Repeat("x", 2*maxFile) + `"}`, false, true},
		{"not JSON", `<html>`, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = w.Write([]byte(tc.answer))
			}))
			defer server.Close()
			f := config.Fleet{NATS: "tls://n0:4222", Varz: []string{server.URL + "/varz"}}
			all := askCluster(t.Context(), f)
			if len(all) != 1 || all[0].Syncs != tc.syncs || (all[0].Err != nil) != tc.fails {
				t.Errorf("found %+v", all)
			}
		})
	}
	if all := askCluster(t.Context(), config.Fleet{}); all != nil {
		t.Errorf("the embedded server: %+v", all)
	}
	if all := askCluster(t.Context(), config.Fleet{NATS: "tls://n0:4222"}); len(all) != 1 || all[0].URL != "" {
		t.Errorf("unchecked: %+v", all)
	}
}
