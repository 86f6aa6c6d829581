//go:build !unix

package builds

import "os/exec"

func inGroup(*exec.Cmd) {}
