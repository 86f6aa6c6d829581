package webui

import (
	"testing"

	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

func TestMain(m *testing.M) { daemontest.Main(m) }
