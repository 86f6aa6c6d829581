package device

import (
	"slices"
	"strings"
	"testing"
)

// TestEnvironmentKeepsNoKeys: a browser does not write the secrets of TLS to where the environment
// of the program has them written.
func TestEnvironmentKeepsNoKeys(t *testing.T) {
	t.Setenv("SSLKEYLOGFILE", "/nowhere/keys")
	t.Setenv("SSLKEYLOGFILES", "another")
	p := &profile{dir: t.TempDir()}
	env := p.environment(":7")
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "SSLKEYLOGFILE=") }) {
		t.Error("a browser is told to keep the secrets of TLS")
	}
	for _, want := range []string{"SSLKEYLOGFILES=another", "DISPLAY=:7", "HOME=" + p.dir} {
		if !slices.Contains(env, want) {
			t.Errorf("its environment has no %s", want)
		}
	}
}
