package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/eideticker/eideticker/deploy/api/client"
	"github.com/eideticker/eideticker/deploy/config"
)

// TestRigAddresses holds each address of a rig that people are shown against where rigs listen if
// nothing else is said.
func TestRigAddresses(t *testing.T) {
	conf, err := config.Load("", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(conf.Listen)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	parser, err := newParser(io.Discard, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	helpOf(parser.Model.Node, texts)
	_, err = client.New("rig", "")
	texts["the error of a bad address"] = err.Error()
	files, err := filepath.Glob("../../deploy/ci/*")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(append(files, pages...), "../../README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	address := regexp.MustCompile(`(?:(?:--rig |RIG=)https?://[^:/\s]+|https?://rig[\w.-]*):(\d+)`)
	found := 0
	for where, text := range texts {
		for _, a := range address.FindAllStringSubmatch(text, -1) {
			if found++; a[1] != port {
				t.Errorf("%s has %s, and rigs are at port %s", where, a[0], port)
			}
		}
	}
	if found < 10 {
		t.Errorf("%d addresses found", found)
	}
}

// helpOf collects what the help of a command and of those below it says.
func helpOf(n *kong.Node, texts map[string]string) {
	text := []string{n.Help, n.Detail}
	for _, f := range n.Flags {
		text = append(text, f.Help)
	}
	texts["the help of "+n.FullPath()] = strings.Join(text, "\n")
	for _, child := range n.Children {
		helpOf(child, texts)
	}
}
