package report

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/eideticker/eideticker/pattern"
)

// A page that is a file cannot load modules. So the report inlines them as functions: an import
// becomes the constants that the other module's function returned.
var (
	importLine  = pattern.New(`(?m)^import \{([^}]*)\} from '(?:\.|\.\./shared)/([a-z]+)\.js';\n`)
	exportStart = pattern.New(`(?m)^export (?:async )?(?:function|class|const) ([A-Za-z_$][\w$]*)`)
	anyModule   = pattern.New(`(?m)^(?:import|export)\b.*`)
)

// Bundle returns a classic script that runs the module named last, after those that it imports.
// Modules import each other by name without cycles, and export declarations. They are in one of the
// folders.
func Bundle(last string, folders ...fs.FS) (string, error) {
	b := bundler{folders: folders, state: map[string]int{}}
	b.out.WriteString("(() => {\n'use strict';\n")
	if err := b.add(last); err != nil {
		return "", fmt.Errorf("bundle %s: %w", last, err)
	}
	b.out.WriteString("})();\n")
	return b.out.String(), nil
}

type bundler struct {
	folders []fs.FS
	out     strings.Builder
	state   map[string]int // of modules: being added, or added
}

const (
	adding = iota + 1
	added
)

// add writes a module behind those that it imports.
func (b *bundler) add(name string) error {
	switch b.state[name] {
	case adding:
		return fmt.Errorf("module %s imports itself", name)
	case added:
		return nil
	}
	b.state[name] = adding
	var source []byte
	err := fs.ErrNotExist
	for _, folder := range b.folders {
		if source, err = fs.ReadFile(folder, name+".js"); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	text := string(source)
	for _, found := range importLine.FindAllStringSubmatch(text, -1) {
		if err := b.add(found[2]); err != nil {
			return err
		}
	}
	text = importLine.ReplaceAllString(text, "const {$1} = module_$2;\n")
	var names []string
	for _, found := range exportStart.FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	text = exportStart.ReplaceAllStringFunc(text, func(s string) string { return strings.TrimPrefix(s, "export ") })
	if left := anyModule.FindString(text); left != "" {
		return fmt.Errorf("module %s: unsupported %q", name, left)
	}
	fmt.Fprintf(&b.out, "const module_%s = (() => {\n%s\nreturn {%s};\n})();\n", name, text, strings.Join(names, ", "))
	b.state[name] = added
	return nil
}
