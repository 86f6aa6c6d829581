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
