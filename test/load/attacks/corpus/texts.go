// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
)

// Chart and Version are those of all charts of attacks. HarmlessChart is the repository of Harmless.
const (
	Chart         = "evil"
	Version       = "1.0.0"
	HarmlessChart = "harmless"
)

const (
	chartFile = "apiVersion: v2\nname: " + Chart + "\nversion: " + Version + "\n"
	// object is the start of a template with a ConfigMap.
	object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n"
)

// entry is an entry of an archive. A size without content stands for zeros.
type entry struct {
	name    string
	content string
	kind    byte
	link    string
	zeros   int64
}

// pack returns an archive. The chart file is added unless an entry has its name.
func pack(entries ...entry) []byte {
	own := false
	for _, e := range entries {
		own = own || e.name == Chart+"/Chart.yaml"
	}
	if !own {
		entries = append([]entry{{name: Chart + "/Chart.yaml", content: chartFile}}, entries...)
	}
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	must(err)
	files := tar.NewWriter(zip)
	zeros := make([]byte, 1<<20)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.content)) + e.zeros, Typeflag: e.kind, Linkname: e.link}
		if header.Typeflag == 0 {
			header.Typeflag = tar.TypeReg
		}
		must(files.WriteHeader(header))
		_, err := files.Write([]byte(e.content))
		must(err)
		for left := e.zeros; left > 0; left -= int64(len(zeros)) {
			_, err := files.Write(zeros[:min(left, int64(len(zeros)))])
			must(err)
		}
	}
	must(files.Close())
	must(zip.Close())
	return out.Bytes()
}

// must ends the program after an error of a writer in memory, which there cannot be.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// file returns an archive with one more file below the folder of the chart.
func file(name, content string) func() []byte {
	return func() []byte { return pack(entry{name: Chart + "/" + name, content: content}) }
}

// template returns an archive with one template, whose text follows the start of a ConfigMap.
func template(text string) func() []byte { return file("templates/evil.yaml", object+text) }

// Harmless returns the archive of a chart with one ConfigMap.
func Harmless() []byte {
	return pack(entry{name: Chart + "/templates/configmap.yaml", content: object + "data:\n  message: {{ .Values.message | default \"none\" | quote }}\n"})
}

// laughs returns YAML of a map with lists that repeat one another, with 10 to the power of 13 scalars.
func laughs() string {
	const depth = 12
	text := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range depth {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	return text
}

// longAlias returns YAML of size bytes and of n aliases, each of which repeats them.
func longAlias(size, n int) string {
	return "a: &x " + strings.Repeat("x", size) + "\nb: [" + strings.Repeat("*x,", n) + "]\n"
}

// nested returns YAML of maps in maps.
func nested(depth int) string {
	return "a: " + strings.Repeat("{a: ", depth) + strings.Repeat("}", depth) + "\n"
}

// costly returns a regular expression with more instructions than the limit.
func costly() string { return "(?:" + strings.Repeat("abcdefgh", 400) + "){1000}" }
