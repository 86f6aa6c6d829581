package device

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/internal/strict"
)

// FileVariable is the environment variable that names a file of devices.
const FileVariable = "EIDETICKER_DEVICES"

// List is the devices there are.
type List struct {
	File    string // where they stand; "": nothing is configured
	Devices []Description
}

// hereFile is the file of devices of the current folder.
const hereFile = "devices.yaml"

// CommandError reports that the file of the current folder, which the user did not name, has a
// program to run.
type CommandError struct{ Device string }

func (e *CommandError) Error() string {
	return fmt.Sprintf("%s of this folder has a power command for device %s; name the file with --devices", hereFile,
		strict.Clip(e.Device))
}

// Load reads the devices: from the file that is given, or that [FileVariable] names; else from the
// first that is there of devices.yaml in this folder, the user's and the system's. Where none is,
// and in a file that says nothing of it, there is local. A file of this folder may come with files
// of others: if it has a power command, the error is a *CommandError.
func Load(file string, known Known) (*List, error) {
	l, unnamed := &List{File: file}, false
	if l.File == "" {
		l.File = os.Getenv(FileVariable)
	}
	if l.File == "" {
		found, err := firstThere(places())
		if err != nil {
			return nil, err
		}
		l.File, unnamed = found, found == hereFile
	}
	if l.File != "" {
		var err error
		if l.Devices, err = read(l.File, known); err != nil {
			return nil, err
		}
	}
	if i := slices.IndexFunc(l.Devices, func(d Description) bool { return len(d.Power.On) > 0 }); unnamed && i >= 0 {
		return nil, &CommandError{l.Devices[i].Name}
	}
	if !slices.ContainsFunc(l.Devices, func(d Description) bool { return d.Name == "local" }) {
		l.Devices = append(l.Devices, Local())
	}
	return l, nil
}

// places are where a file of devices is looked for, in order.
func places() []string {
	all := []string{hereFile}
	if dir, err := os.UserConfigDir(); err == nil {
		all = append(all, filepath.Join(dir, "eideticker", "devices.yaml"))
	}
	return append(all, "/etc/eideticker/devices.yaml")
}

// firstThere returns the first file that there is, even if it cannot be read: what somebody wrote
// is not passed over in silence.
func firstThere(files []string) (string, error) {
	for _, f := range files {
		_, err := os.Stat(f)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("look for devices: %w", err)
		}
	}
	return "", nil
}

// UnknownError says that no device has a name.
type UnknownError struct {
	Name  string
	File  string   // that was read; "": none is there
	Names []string // of the devices that there are
}

func (e *UnknownError) Error() string {
	if near := wording.Nearest(e.Name, e.Names); near != "" {
		return fmt.Sprintf("no device %q; did you mean %s?", strict.Clip(e.Name), near)
	}
	where := "no devices.yaml is here, so there is"
	if e.File != "" {
		where = "in " + e.File + " there are"
	}
	return fmt.Sprintf("no device %q: %s %s", strict.Clip(e.Name), where, strings.Join(e.Names, ", "))
}

// Find returns the device of a name. The error is an *UnknownError.
func (l *List) Find(name string) (Description, error) {
	unknown := &UnknownError{Name: name, File: l.File}
	for _, d := range l.Devices {
		if d.Name == name {
			return d, nil
		}
		unknown.Names = append(unknown.Names, d.Name)
	}
	return Description{}, unknown
}
