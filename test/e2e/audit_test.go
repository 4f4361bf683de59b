// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/test/harness"
)

// request is the used part of an entry of the audit log.
type request struct {
	Stage string `json:"stage"`
	Verb  string `json:"verb"`
	User  struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource  string `json:"resource"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"objectRef"`
	Status struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	// Received and Answered are by the API server's clock.
	Received time.Time `json:"requestReceivedTimestamp"`
	Answered time.Time `json:"stageTimestamp"`
}

func (r request) String() string {
	return r.Received.Format("05.000000") + " " + r.Verb + " " + r.ObjectRef.Resource + " " + r.ObjectRef.Name
}

// requests returns all write requests of a replica so far, successful or not, oldest first: those
// to its Lease, and all others except events.
func (w world) requests(replica string) (leases, writes []request) {
	w.Helper()
	file, err := os.Open(env.audit)
	w.Must(err)
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			// The last line may be incomplete.
			continue
		}
		if r.Stage != "ResponseComplete" || r.User.Username != harness.ReplicaUser(w.Namespace, replica) ||
			!slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) {
			continue
		}
		switch r.ObjectRef.Resource {
		case "leases":
			leases = append(leases, r)
		case "events", "selfsubjectaccessreviews":
		default:
			writes = append(writes, r)
		}
	}
	w.Must(lines.Err())
	oldestFirst := func(a, b request) int { return a.Received.Compare(b.Received) }
	slices.SortFunc(leases, oldestFirst)
	slices.SortFunc(writes, oldestFirst)
	return leases, writes
}

// lastAnswer is when the last of some requests was answered.
func lastAnswer(all []request) time.Time {
	var last time.Time
	for _, r := range all {
		if r.Answered.After(last) {
			last = r.Answered
		}
	}
	return last
}

// after returns those of some requests that were received after a moment.
func after(all []request, moment time.Time) []request {
	return slices.DeleteFunc(slices.Clone(all), func(r request) bool { return !r.Received.After(moment) })
}
