package device

import (
	"fmt"
	"os/exec"
)

// MissingError says that a program is not installed.
type MissingError struct {
	Program string // as it is run
	Package string // of Debian, which has it
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed: apt-get install %s", e.Program, e.Package)
}

// find returns the first of the programs that is installed.
func find(pkg string, programs ...string) (string, error) {
	for _, p := range programs {
		if path, err := exec.LookPath(p); err == nil {
			return path, nil
		}
	}
	return "", &MissingError{Program: programs[0], Package: pkg}
}
