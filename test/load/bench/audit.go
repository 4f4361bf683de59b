// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/test/harness"
)

// others are the user agents of other components, without versions. All other user agents belong to
// the controller, which may have several.
func others() []string {
	return []string{
		harness.UserAgent, "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "source-controller",
	}
}

// event is the used part of a line of the API server's audit log.
type event struct {
	Stage      string `json:"stage"`
	Verb       string `json:"verb"`
	UserAgent  string `json:"userAgent"`
	RequestURI string `json:"requestURI"`
	ObjectRef  *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
}

// auditLog reads the lines that were added to the audit log since the last time. Without a path it
// reads nothing.
type auditLog struct {
	path   string
	offset int64
}

// counts are numbers of the controller's requests, by kind and by user agent.
type counts struct {
	kinds, agents map[string]int
	// othersReads are reads of Secrets by others than the controller, watches
	// excepted.
	othersReads int
}

func (c counts) total() int {
	sum := 0
	for _, n := range c.agents {
		sum += n
	}
	return sum
}

func (a *auditLog) next() (counts, error) {
	if a.path == "" {
		return counts{}, nil
	}
	file, err := os.Open(a.path)
	if err != nil {
		return counts{}, err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return counts{}, err
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return counts{}, err
	}
	// The last line may be half written; it is for the next time.
	whole := content[:bytes.LastIndexByte(content, '\n')+1]
	a.offset += int64(len(whole))
	return count(whole)
}

// count counts the controller's requests in lines of an audit log.
func count(lines []byte) (counts, error) {
	c := counts{kinds: map[string]int{}, agents: map[string]int{}}
	for line := range bytes.Lines(lines) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return c, fmt.Errorf("audit log: %w", err)
		}
		agent, _, _ := strings.Cut(e.UserAgent, "/")
		if !e.counts() {
			continue
		}
		if slices.Contains(others(), agent) {
			if kind := e.kind(); kind == "get secrets" || kind == "list secrets" {
				c.othersReads++
			}
			continue
		}
		c.kinds[e.kind()]++
		c.agents[agent]++
	}
	return c, nil
}

// counts reports whether this line counts as its request. A watch has two lines: the first one
// counts, since the watch may outlast the phase.
func (e event) counts() bool {
	if e.Verb == "watch" {
		return e.Stage == "ResponseStarted"
	}
	return e.Stage == "ResponseComplete" || e.Stage == "Panic"
}

// kind returns the verb and resource of a request. Requests without resource are discovery, of
// which only the document's name is returned.
func (e event) kind() string {
	path, query, _ := strings.Cut(e.RequestURI, "?")
	if e.ObjectRef == nil || e.ObjectRef.Resource == "" {
		first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		return e.Verb + " /" + first
	}
	kind := e.Verb + " " + e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		kind += "/" + e.ObjectRef.Subresource
	}
	if strings.Contains(query, "dryRun=") {
		kind += " (dry run)"
	}
	return kind
}
