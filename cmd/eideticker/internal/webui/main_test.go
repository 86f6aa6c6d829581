package webui

import (
	"testing"

	"github.com/eideticker/eideticker/cmd/eideticker/internal/daemon/daemontest"
)

func TestMain(m *testing.M) { daemontest.Main(m) }
