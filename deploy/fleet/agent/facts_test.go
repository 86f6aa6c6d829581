package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/eideticker/eideticker/controller/certify"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/sources"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"Pixel 7\n": "pixel7", "SM-G991B": "sm-g991b", "": "",
		"a,b=c\x00d":  "abcd",
		"Ünïcode – 5": "ncode5", "--x--": "x", "R\x1b[31m": "r31m"} {
		if got := word(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for _, c := range [][3]string{{"System Product Name", "PRIME X570", "primex570"}, {"NUC13", "x", "nuc13"},
		{"Default string", "", ""}} {
		root := t.TempDir()
		write(t, root, "sys/class/dmi/id/product_name", c[0])
		write(t, root, "sys/class/dmi/id/board_name", c[1])
		if got := hostModel(root); got != c[2] {
			t.Errorf("%q is %q", c, got)
		}
	}
	said := map[string]string{"firefox": "Mozilla Firefox 140.5.0esr", "chrome": "148.0.1", "other": "unknown"}
	if got := versions([]string{"firefox", "other", "chrome"}, func(n string) string { return said[n] }); got !=
		"firefox-140,chrome-148" {
		t.Errorf("%q", got)
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCertified(t *testing.T) {
	t.Parallel()
	of := func(all ...certify.Verdict) (out []sources.Certificate) {
		for _, v := range all {
			out = append(out, sources.Certificate{Verdict: v})
		}
		return out
	}
	there := &sources.Sources{
		Devices: []sources.Device{{Source: "v4l2:/dev/none0", Certificates: of(certify.Pass, certify.Fail)},
			{Source: "v4l2:/dev/none1", Certificates: of(certify.Fail, certify.Pass)}, {Source: "v4l2:/dev/none2"}},
		Displays: []sources.Display{{Source: "x11::9", Certificates: of(certify.Remark)}}}
	for source, want := range map[string]string{"v4l2:/dev/none0?input=1": "yes", "v4l2:/dev/none1": "no",
		"v4l2:/dev/none2": "no", "v4l2:/dev/away": "", "x11::9.0?fps=60": "yes", "x11::8": "", "x11": "",
		"synth:page": ""} {
		if got := certified(source, there); got != want {
			t.Errorf("%s is certified: %q, want %q", source, got, want)
		}
	}
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if shapes(root) {
		t.Error("a machine without capabilities shapes networks")
	}
	write(t, root, "proc/self/status", "CapEff:\t0000000000201000\n")
	write(t, root, "dev/net/tun", "")
	may := shapes(root)
	write(t, root, "proc/self/status", "CapEff:\t0000000000001000\n")
	if !may || shapes(root) {
		t.Error("the capabilities do not decide")
	}
	if got := networks(&device.Description{Source: "v4l2:/dev/video0"}); got != "none" {
		t.Errorf("a device without an interface has %q", got)
	}
}
