// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"strings"
	"testing"
)

// TestLines: a key has the line at which it is written, also by an alias or a merge. A path that ends in a
// value has the line of that value's key.
func TestLines(t *testing.T) {
	t.Parallel()
	const content = `# comment
image:
  tag: "1"

defaults: &defaults
  replicas: 2
  limits: {cpu: 1}
web:
  <<: *defaults
  replicas: 3
job: *defaults
both:
  <<: [*defaults, {replicas: 9, extra: 1}]
true: yes
"a.b": 1
list:
  - name: x
`
	l := Values().LinesOf([]byte(content))
	for path, line := range map[string]int{
		"image": 2, "image/tag": 3, "image/tag/below": 3, "image/none": 2, "web/replicas": 10, "web/limits/cpu": 7,
		"job/replicas": 6, "both/replicas": 6, "both/extra": 13, "true": 14, "a.b": 15, "list": 16, "none": 0, "none/below": 0,
	} {
		if got := l.Of(strings.Split(path, "/")); got != line {
			t.Errorf("%s is in line %d, not %d", path, got, line)
		}
	}
	if got := Values().LinesOf([]byte(`{"a":` + "\n" + `{"b": 1}}`)).Of([]string{"a", "b"}); got != 2 {
		t.Errorf("in JSON, it is line %d", got)
	}
	for _, none := range []string{"", "text", "a: [", "a: &a {<<: *a}", strings.Repeat("x", 9<<20)} {
		if got := Values().LinesOf([]byte(none)).Of([]string{"b"}); got != 0 {
			t.Errorf("%.20q has line %d", none, got)
		}
	}
}

// FuzzLines: no content makes it fail.
func FuzzLines(f *testing.F) {
	f.Add("a: &a {<<: *a}", "a")
	f.Add("a: {b: [1]}\n", "a/b")
	f.Fuzz(func(_ *testing.T, content, path string) {
		Values().LinesOf([]byte(content)).Of(strings.Split(path, "/"))
	})
}
