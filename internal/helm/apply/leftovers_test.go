// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/apitest"
)

// failedRecord is a result of FailedSince.
type failedRecord struct {
	deployed storage.Manifest
	failed   []storage.FailedRevision
	err      error
}

// TestLeftoversFound: leftovers are the objects of failed revisions that neither the deployed nor
// the new revision contains. The oldest revision of each counts.
func TestLeftoversFound(t *testing.T) {
	text := func(names ...string) string {
		raw, err := io.ReadAll(manifestOf(names...))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	const gone = "---\napiVersion: gone.example.com/v1\nkind: Gone\nmetadata: {name: gone}\n"
	at := time.Unix(1_000_000, 0)
	failed := func(version int, names ...string) storage.FailedRevision {
		return storage.FailedRevision{
			Manifest: storage.Manifest{Namespace: "prod", Version: version, Text: text(names...)},
			Created:  at.Add(time.Duration(version) * time.Second), Preceded: version > 2,
		}
	}
	found := func(name string, version int, deletes bool) string {
		return fmt.Sprint(name, release.Leftover{
			Version: version, Recorded: at.Add(time.Duration(version) * time.Second), Preceded: version > 2, Deletes: deletes,
		})
	}
	elsewhere, unserved := failed(2, "made"), failed(2, "made")
	elsewhere.Namespace, unserved.Text = "test", gone+unserved.Text
	deployed := storage.Manifest{Namespace: "prod", Version: 1, Text: text("one", "two")}
	for name, tc := range map[string]struct {
		reason   string
		record   failedRecord
		original []string
		want     []string
	}{
		"None":      {"no revision has failed", failedRecord{}, []string{"one", "two"}, nil},
		"Unread":    {"the revisions are unknown", failedRecord{err: errors.New("broken"), failed: []storage.FailedRevision{failed(2, "made")}}, nil, nil},
		"Made":      {"the failed revision has another object", failedRecord{deployed: deployed, failed: []storage.FailedRevision{failed(2, "one", "two", "made")}}, nil, []string{found("made", 2, false)}},
		"Oldest":    {"two failed revisions have it", failedRecord{deployed: deployed, failed: []storage.FailedRevision{failed(2, "made"), failed(3, "made", "later")}}, nil, []string{found("made", 2, false), found("later", 3, false)}},
		"Current":   {"Helm deletes it", failedRecord{deployed: deployed, failed: []storage.FailedRevision{failed(2, "two", "made", "other")}}, []string{"two", "made"}, []string{found("made", 2, true), found("other", 2, false)}},
		"New":       {"the new revision has it", failedRecord{deployed: deployed, failed: []storage.FailedRevision{failed(2, "new")}}, nil, nil},
		"Elsewhere": {"the record is of a release in another namespace", failedRecord{deployed: deployed, failed: []storage.FailedRevision{elsewhere}}, nil, nil},
		"Unserved":  {"an object of a kind that does not exist does not exist", failedRecord{deployed: deployed, failed: []storage.FailedRevision{unserved}}, nil, []string{found("made", 2, false)}},
		"Gone": {"the deployed revision has an object of a kind that does not exist any more", failedRecord{
			deployed: storage.Manifest{Namespace: "prod", Version: 1, Text: gone}, failed: []storage.FailedRevision{failed(2, "made")},
		}, nil, []string{found("made", 2, false)}},
		"Unknown": {"the objects of the deployed revision are unknown", failedRecord{
			deployed: storage.Manifest{Namespace: "prod", Version: 1, Text: strings.ReplaceAll(gone, "gone.example.com", "away.example.com")},
			failed:   []storage.FailedRevision{failed(2, "made")},
		}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Refuse = func(_, path string) int {
				if strings.HasPrefix(path, "/apis/away.example.com") {
					return http.StatusServiceUnavailable
				}
				return 0
			}
			c := w.client(t.Context(), func(o *Options) {
				o.FailedSince = func(int) (storage.Manifest, []storage.FailedRevision, error) {
					return tc.record.deployed, tc.record.failed, tc.record.err
				}
			})
			original, err := c.builder.parse(manifestOf(tc.original...), wanted)
			if err != nil {
				t.Fatal(err)
			}
			next, err := c.builder.parse(manifestOf("one", "new"), wanted)
			if err != nil {
				t.Fatal(err)
			}
			c.Leftovers.BeforeRevision(4)
			all := c.Leftovers.find(original, next)
			var got []string
			for _, o := range all {
				got = append(got, fmt.Sprint(o.info.Name, o.Leftover))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			rest := names(excluding(original, all))
			if want := slices.DeleteFunc(names(original), func(n string) bool { return strings.Contains(strings.Join(got, " "), n+"{") }); !slices.Equal(rest, want) {
				t.Errorf("Helm deletes %v, want %v", rest, want)
			}
		})
	}
}

// TestUninstallOfUnprovenRevision: even if failed revisions are not known, an uninstall leaves what only an
// unproven revision contains, unless the metadata of the object names the release. What does not exist is
// deleted as Helm does.
func TestUninstallOfUnprovenRevision(t *testing.T) {
	const kept = "ConfigMap/prod/bystander: another client wrote the record of the revision, and the metadata of the object does not name the release"
	for unproven, want := range map[bool]string{true: "absent ours", false: "absent bystander ours"} {
		w := newWorld(t)
		for name, metadata := range map[string]string{
			"ours": "{name: ours, annotations: {meta.helm.sh/release-name: app, meta.helm.sh/release-namespace: prod}}", "bystander": "{name: bystander}",
		} {
			w.Put("/api/v1/namespaces/prod/configmaps/"+name, apitest.Parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: "+metadata+"\n").Object)
		}
		c := w.client(t.Context(), func(o *Options) {
			o.Stored, o.Unproven = AllStored, func() bool { return unproven }
			o.FailedSince = func(int) (storage.Manifest, []storage.FailedRevision, error) {
				return storage.Manifest{}, nil, errors.New("broken")
			}
		})
		c.Leftovers.BeforeUninstall()
		list, err := c.Build(manifestOf("absent", "bystander", "ours"), false)
		if got := strings.Join(names(list), " "); err != nil || got != want {
			t.Errorf("unproven %t: %s is deleted, error %v", unproven, got, err)
		}
		if got := strings.Join(c.Kept(), ", "); got != "" != unproven || unproven && got != kept {
			t.Errorf("unproven %t: kept %s", unproven, got)
		}
	}
}
