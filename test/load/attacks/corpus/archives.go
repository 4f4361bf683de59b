// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"archive/tar"
	"fmt"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// unusable returns the outcome of an archive that is not loaded.
func unusable(says ...string) Outcome { return rejected(helmv2.ReasonArtifactFailed, says...) }

const (
	unpacked  = "larger than 104857600 bytes when it is unpacked"
	tooDeep   = "is a subchart at depth 17, more than 16"
	expansion = "after the expansion of its aliases"
)

func archives() []Attack {
	one := func(e entry) func() []byte { return func() []byte { return pack(e) } }
	return []Attack{
		{Name: "archives/bomb", Worst: true, Archive: zeros(128, 4<<20), Outcome: unusable(unpacked)},
		{Name: "archives/bomb-of-one-file", Archive: zeros(1, 400<<20), Outcome: unusable(unpacked)},
		{Name: "archives/bombs-in-bombs", Archive: bombs, Outcome: unusable(unpacked)},
		{Name: "archives/many-files", Archive: manyFiles, Outcome: unusable("the chart has more than 20000 files")},
		{Name: "archives/long-names", Archive: longNames, Outcome: unusable(unpacked)},
		{Name: "archives/nested-folders", Archive: file(strings.Repeat("charts/a/", 17)+"Chart.yaml", chartFile), Outcome: unusable(tooDeep)},
		{Name: "archives/nested-archives", Archive: nestedArchives, Outcome: unusable(tooDeep)},
		{Name: "archives/symbolic-link", Archive: one(entry{name: Chart + "/values.yaml", kind: tar.TypeSymlink, link: "/etc/passwd"}), Outcome: unusable("evil/values.yaml", "links and devices are not unpacked")},
		{Name: "archives/hard-link", Archive: one(entry{name: Chart + "/values.yaml", kind: tar.TypeLink, link: Chart + "/Chart.yaml"}), Outcome: unusable("evil/values.yaml", "links and devices are not unpacked")},
		{Name: "archives/pipe", Archive: one(entry{name: Chart + "/pipe", kind: tar.TypeFifo}), Outcome: unusable("evil/pipe", "neither a file nor a directory")},
		{Name: "archives/parent", Archive: one(entry{name: Chart + "/../../etc/x", content: "x"}), Outcome: unusable("is outside of the chart")},
		{Name: "archives/absolute", Archive: one(entry{name: "/etc/passwd", content: "x"}), Outcome: unusable("/etc/passwd", "is an absolute path")},
		{Name: "archives/random", Archive: func() []byte { return []byte(strings.Repeat("random", 1000)) }, Outcome: unusable("cannot be read: gzip")},
		{Name: "archives/deep-values", Archive: file("values.yaml", strings.Repeat("[", 1<<20)), Outcome: unusable("values.yaml")},
		{Name: "archives/deep-list", Archive: file("values.yaml", strings.Repeat("- ", 1<<20)), Outcome: unusable("values.yaml")},
		{Name: "archives/deep-chart", Archive: file("Chart.yaml", chartFile+"annotations: "+strings.Repeat("[", 1<<20)), Outcome: unusable("Chart.yaml")},
		{Name: "archives/aliases", Archive: file("values.yaml", laughs()), Outcome: unusable("evil/values.yaml", "more than 4000000 keys and values", expansion)},
		{Name: "archives/aliases-of-subchart", Archive: file("charts/a/values.yaml", laughs()), Outcome: unusable("evil/charts/a/values.yaml", "more than 4000000 keys and values", expansion)},
		{Name: "archives/aliases-in-chart", Archive: file("Chart.yaml", chartFile+"annotations:\n  x: &x "+strings.Repeat("x", 1<<20)+"\nkeywords: ["+strings.Repeat("*x,", 100)+"]\n"), Outcome: unusable("evil/Chart.yaml", "more than 67108864 bytes", expansion)},
		{Name: "archives/long-alias", Archive: file("values.yaml", longAlias(1<<20, 100)), Outcome: unusable("evil/values.yaml", "more than 67108864 bytes", expansion)},
		{Name: "archives/many-values", Worst: true, Archive: file("values.yaml", "a: ["+strings.Repeat("{},", 1_600_000)+"]"), Outcome: Outcome{Reason: helmv2.ReasonArtifactFailed, Limits: []string{memory}}},
		{Name: "archives/many-dependencies", Archive: manyDependencies, Outcome: Outcome{Reason: helmv2.ReasonArtifactFailed, Limits: []string{memory}}},
		{Name: "archives/blocks", Archive: file("templates/deep.yaml", strings.Repeat("{{if 1}}", 600_000)), Outcome: unusable("evil/templates/deep.yaml", "more than 50000 blocks")},
	}
}

// zeros returns an archive of files with zeros.
func zeros(files int, size int64) func() []byte {
	return func() []byte {
		var all []entry
		for i := range files {
			all = append(all, entry{name: fmt.Sprintf("%s/z%d", Chart, i), zeros: size})
		}
		return pack(all...)
	}
}

// bombs returns a chart of archives in archives, each of which is small.
func bombs() []byte {
	inner := string(pack(entry{name: Chart + "/z", zeros: 4 << 20}))
	var all []entry
	for i := range 40 {
		all = append(all, entry{name: fmt.Sprintf("%s/charts/a%d.tgz", Chart, i), content: inner})
	}
	return pack(all...)
}

func manyFiles() []byte {
	var all []entry
	for i := range 30_000 {
		all = append(all, entry{name: fmt.Sprintf("%s/f%d", Chart, i)})
	}
	return pack(all...)
}

// longNames returns an archive of empty files whose names have half a mebibyte.
func longNames() []byte {
	var all []entry
	for i := range 250 {
		all = append(all, entry{name: fmt.Sprintf("%s/%d%s", Chart, i, strings.Repeat("x", 1<<19))})
	}
	return pack(all...)
}

func nestedArchives() []byte {
	inner := pack()
	for range 18 {
		inner = pack(entry{name: Chart + "/charts/evil-1.0.0.tgz", content: string(inner)})
	}
	return inner
}

// manyDependencies returns a chart file of nearly the maximum size for a file.
func manyDependencies() []byte {
	return file("Chart.yaml", chartFile+"dependencies: ["+strings.Repeat("{name: a,tags: [a]},", 250_000)+"]\n")()
}
