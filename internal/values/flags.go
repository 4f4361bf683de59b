// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"

	"helm.sh/helm/v3/pkg/strvals"
)

// Flags are the arguments of the flags by which helm takes values.
type Flags struct {
	// Files are the arguments of --values, and the others the arguments of the flag of their name.
	Files, SetJSON, Set, SetString, SetFile, SetLiteral []string
}

// Values returns the values of all flags, as helm merges and types them. The kind of a flag decides
// about the order, as in helm: --set-json, --set, --set-string, --set-file and --set-literal, after
// all files. read returns the content of a file. Errors name the file and the line, or the flag, and
// may quote content.
func (f Flags) Values(read func(name string) ([]byte, error)) (map[string]any, error) {
	all := map[string]any{}
	for _, name := range f.Files {
		raw, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("--values: %w", err)
		}
		file, err := parseFile(name, raw)
		if err != nil {
			return nil, err
		}
		Merge(all, file)
	}
	readFile := func(name []rune) (any, error) {
		raw, err := read(string(name))
		return string(raw), err
	}
	for _, flag := range []struct {
		name        string
		assignments []string
		parse       func(assignment string, into map[string]any) error
	}{
		{"--set-json", f.SetJSON, strvals.ParseJSON},
		{"--set", f.Set, strvals.ParseInto},
		{"--set-string", f.SetString, strvals.ParseIntoString},
		{"--set-file", f.SetFile, func(assignment string, into map[string]any) error {
			return strvals.ParseIntoFile(assignment, into, readFile)
		}},
		{"--set-literal", f.SetLiteral, strvals.ParseLiteralInto},
	} {
		for _, assignment := range flag.assignments {
			if err := flag.parse(assignment, all); err != nil {
				return nil, fmt.Errorf("%s %s: %w", flag.name, assignment, err)
			}
		}
	}
	return all, nil
}

// parseFile reads the values of a file.
func parseFile(name string, raw []byte) (map[string]any, error) {
	values, _, err := decode(raw)
	if err != nil {
		if line, cause := located(err); line != "" {
			return nil, fmt.Errorf("%s:%s: %s", name, line, cause)
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	switch v := values.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	}
	return nil, fmt.Errorf("%s: the values are not a map", name)
}
