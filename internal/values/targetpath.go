// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"
)

// SetPath sets the value at path to content, both in the notation of Helm's --set. Numbers, true,
// false, null and {lists} have their types, and a comma starts another assignment. Content in a
// pair of single or double quotes is a string. After an error values is partly changed and must not
// be used. Errors do not quote content. A path that exceeds a limit is an error before anything is
// set.
func (b *Budget) SetPath(values map[string]any, path, content string) error {
	for _, quote := range []string{`'`, `"`} {
		if rest, opened := strings.CutPrefix(content, quote); opened {
			if inner, closed := strings.CutSuffix(rest, quote); closed {
				return b.set(values, path, inner, strvals.ParseIntoString)
			}
		}
	}
	return b.set(values, path, content, strvals.ParseInto)
}

// SetLiteral sets the value at path, in the notation of Helm's --set, to the string content,
// unchanged. After an error values is partly changed and must not be used. Errors do not quote
// content. A path that exceeds a limit is an error before anything is set.
func (b *Budget) SetLiteral(values map[string]any, path, content string) error {
	escaped := strings.NewReplacer(`\`, `\\`, `,`, `\,`, `{`, `\{`, `}`, `\}`).Replace(content)
	return b.set(values, path, escaped, strvals.ParseIntoString)
}

func (b *Budget) set(values map[string]any, path, content string, parse func(string, map[string]any) error) error {
	// The parser drops some assignments that end right after the equals sign.
	if content == "" {
		content = ","
	}
	if err := b.checkPath(path, content); err != nil {
		return fmt.Errorf("the target path %q cannot be set: %w", path, err)
	}
	if parse(path+"="+content, values) == nil {
		return nil
	}
	// If the path alone is rejected, the error of that attempt can quote nothing but the path.
	if err := strvals.ParseIntoString(path+"=x", values); err != nil {
		return fmt.Errorf("the target path %q cannot be set: %w", path, err)
	}
	return fmt.Errorf("the content cannot be set at the target path %q: it is not in the notation of Helm's --set", path)
}
