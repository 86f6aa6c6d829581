package session

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/device"
)

// An agent's address reaches the driver, which says who does not answer.
func TestInputThroughAnAgent(t *testing.T) {
	for _, kind := range []string{"windows", "agent"} {
		in, err := device.ParseInput(kind + ":127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		if d, err := openInput(t.Context(), in); d != nil || err == nil || !strings.Contains(err.Error(), "agent at 127.0.0.1:1") {
			t.Errorf("%v, %v", d, err)
		}
	}
}
