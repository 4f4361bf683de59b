// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestEventsOfSuccess: the event of a success says what has changed, and no condition does.
func TestEventsOfSuccess(t *testing.T) {
	t.Parallel()
	snap := func(version int, status helmv2.ReleaseStatus, chart, app string) *helmv2.Snapshot {
		return &helmv2.Snapshot{Name: "web", Namespace: "apps", Version: version, Status: status, ChartName: "web", ChartVersion: chart, AppVersion: app}
	}
	made := func(version int, chart, app, source string) []release.Revision {
		return []release.Revision{{
			Name: "web", Namespace: "apps", Version: version, Status: helmv2.StatusDeployed, Sealed: true,
			ChartName: "web", ChartVersion: chart, AppVersion: app, SourceRevision: source,
		}}
	}
	image := func(from, to string) release.ImageChange { return release.ImageChange{From: from, To: to} }
	taken := func(manager, name, path string) release.TakenField {
		return release.TakenField{Object: release.Object{Group: "apps", Kind: "Deployment", Namespace: "apps", Name: name}, Path: path, Manager: manager}
	}
	images, fields := make([]release.ImageChange, 0, 7), make([]release.TakenField, 0, 7)
	for i := range 7 {
		images = append(images, image(fmt.Sprint("x:", i), fmt.Sprint("y:", i)))
		fields = append(fields, taken("kubectl-scale", fmt.Sprint("d", i), ".spec.replicas"))
	}
	full := release.Changes{
		Objects: &release.ObjectCounts{Created: 1, Changed: 3, Deleted: 1}, Images: []release.ImageChange{image("web:7", "web:8"), image("web:7", "web:8")},
		Taken: []release.TakenField{taken("kubectl-scale", "web", ".spec.replicas")},
	}
	const upgraded, installed, uninstalled = "Helm upgrade succeeded for release apps/web.v5 with chart web@1.3.0",
		"Helm install succeeded for release apps/web.v1 with chart web@1.3.0", "Helm uninstall succeeded for release apps/web.v4 with chart web@1.2.0"
	const rolledBack = "Helm rollback to previous release apps/web.v3 with chart web@1.1.0 succeeded"
	four := helmv2.Snapshots{snap(4, helmv2.StatusDeployed, "1.2.0", "7")}
	failed := helmv2.Snapshots{snap(4, helmv2.StatusFailed, "1.2.0", "7"), snap(3, helmv2.StatusDeployed, "1.1.0", "6")}
	for name, tc := range map[string]struct {
		history helmv2.Snapshots
		outcome release.Outcome
		want    string
	}{
		"Upgrade": {
			four,
			release.Outcome{Action: release.Upgrade{}, Revisions: made(5, "1.3.0", "8", "main@sha1:12"), Changes: full},
			upgraded + ": chart 1.2.0 to 1.3.0, app 7 to 8; image web:7 to web:8; 1 object created, 3 changed, 1 deleted; " +
				"fields taken from kubectl-scale: Deployment/apps/web .spec.replicas; source main@sha1:12",
		},
		"SinceTheDeployed": {
			failed, release.Outcome{Action: release.Upgrade{}, Revisions: made(5, "1.3.0", "6", "")}, upgraded + ": chart 1.1.0 to 1.3.0",
		},
		"SinceTheNewest": {
			failed[:1], release.Outcome{Action: release.Upgrade{}, Revisions: made(5, "1.3.0", "", "")}, upgraded + ": chart 1.2.0 to 1.3.0, app 7 to none",
		},
		"ValuesOnly": {
			helmv2.Snapshots{snap(4, helmv2.StatusDeployed, "1.3.0", "")},
			release.Outcome{Action: release.Upgrade{}, Revisions: made(5, "1.3.0", "", ""), Changes: release.Changes{Objects: &release.ObjectCounts{Changed: 2}}},
			upgraded + ": 2 objects changed",
		},
		"Nothing": {
			helmv2.Snapshots{snap(4, helmv2.StatusDeployed, "1.3.0", "")},
			release.Outcome{Action: release.Upgrade{}, Revisions: made(5, "1.3.0", "", ""), Changes: release.Changes{Objects: &release.ObjectCounts{}}},
			upgraded + ": no object changed",
		},
		"Unknown": {
			helmv2.Snapshots{snap(4, helmv2.StatusDeployed, "1.3.0", "")}, release.Outcome{Action: release.Upgrade{}, Revisions: made(5, "1.3.0", "", "")}, upgraded,
		},
		"SourceIsVersion": {
			helmv2.Snapshots{snap(4, helmv2.StatusDeployed, "1.3.0", "")}, release.Outcome{Action: release.Upgrade{}, Revisions: made(5, "1.3.0", "", "1.3.0")}, upgraded,
		},
		"ManyImages": {
			helmv2.Snapshots{snap(4, helmv2.StatusDeployed, "1.3.0", "")},
			release.Outcome{Action: release.Upgrade{}, Revisions: made(5, "1.3.0", "", ""), Changes: release.Changes{Images: images}},
			upgraded + ": images x:0 to y:0, x:1 to y:1, x:2 to y:2, x:3 to y:3, x:4 to y:4 and 2 more",
		},
		"ImagesOfContainers": {
			helmv2.Snapshots{snap(4, helmv2.StatusDeployed, "1.3.0", "")},
			release.Outcome{Action: release.Upgrade{}, Revisions: made(5, "1.3.0", "", ""), Changes: release.Changes{Images: []release.ImageChange{image("", "a:1"), image("b:1", "")}}},
			upgraded + ": images a:1 added, b:1 removed",
		},
		"ManyFields": {
			helmv2.Snapshots{snap(4, helmv2.StatusDeployed, "1.3.0", "")},
			release.Outcome{Action: release.Upgrade{}, Revisions: made(5, "1.3.0", "", ""), Changes: release.Changes{Taken: append([]release.TakenField{taken("hpa", "web", ".a")}, fields...)}},
			upgraded + ": fields taken from hpa: Deployment/apps/web .a; fields taken from kubectl-scale: Deployment/apps/d0 .spec.replicas, " +
				"Deployment/apps/d1 .spec.replicas, Deployment/apps/d2 .spec.replicas, Deployment/apps/d3 .spec.replicas and 3 more fields taken",
		},
		"OneLine": {
			helmv2.Snapshots{snap(4, helmv2.StatusDeployed, "1.3.0", "")},
			release.Outcome{
				Action: release.Upgrade{}, Revisions: made(5, "1.3.0", "", ""),
				Changes: release.Changes{Images: []release.ImageChange{image("a\nb\xff", strings.Repeat("x", 300))}},
			},
			upgraded + ": image a b\uFFFD to " + strings.Repeat("x", 197) + "...",
		},
		"Install": {
			nil,
			release.Outcome{Action: release.Install{}, Revisions: made(1, "1.3.0", "8", "main@sha1:12"), Changes: release.Changes{
				Objects: &release.ObjectCounts{Created: 4}, Images: []release.ImageChange{image("", "web:8")},
			}},
			installed + ": app 8; image web:8; 4 objects created; source main@sha1:12",
		},
		"Rollback": {
			failed,
			release.Outcome{Action: release.Rollback{Version: 3}, Revisions: made(5, "1.1.0", "6", "main@sha1:12"), Changes: full},
			rolledBack + ": chart 1.2.0 to 1.1.0, app 7 to 6; image web:7 to web:8; 1 object created, 3 changed, 1 deleted; " +
				"fields taken from kubectl-scale: Deployment/apps/web .spec.replicas; source main@sha1:12",
		},
		"Hold": {
			failed,
			release.Outcome{Action: release.Rollback{Version: 3, Hold: true}, Revisions: made(5, "1.1.0", "6", "main@sha1:12")},
			"Rolled back to revision 0 (web 1.1.0, as revision 5) and held: chart 1.2.0 to 1.1.0, app 7 to 6; source main@sha1:12",
		},
		"Uninstall": {
			four,
			release.Outcome{Action: release.Uninstall{}, Revisions: made(4, "1.2.0", "7", "main@sha1:12"), Changes: release.Changes{Objects: &release.ObjectCounts{Deleted: 4}}},
			uninstalled + ": 4 objects deleted",
		},
		"Reinstall": {
			four,
			release.Outcome{Action: release.Uninstall{Reinstall: true}, Changes: release.Changes{Objects: &release.ObjectCounts{Deleted: 1}}},
			"Helm release apps/web.v4 with chart web@1.2.0 was never deployed, and its install hooks have not all run: the release was uninstalled and is installed anew; 1 object deleted",
		},
		"Remediation": {
			four,
			release.Outcome{Action: release.Uninstall{Remediation: true}, Changes: release.Changes{Objects: &release.ObjectCounts{Deleted: 1}}},
			"Helm uninstall remediation for release apps/web.v4 with chart web@1.2.0 succeeded: 1 object deleted",
		},
		"Failed": {
			four, release.Outcome{Action: release.Uninstall{}, Err: errors.New("no")}, "Uninstall of web 1.2.0 failed: no",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hr := &helmv2.HelmRelease{}
			hr.Status.History = tc.history
			r := Finished(hr, tc.outcome, testNow)
			if len(r.Events) != 1 || firstPart(r.Events[0].Message) != tc.want {
				t.Errorf("events %+v, want %q", r.Events, tc.want)
			}
			for _, c := range r.Status.Conditions {
				for _, fact := range []string{": chart", "image", "object", "fields", "source"} {
					if strings.Contains(c.Message, fact) {
						t.Errorf("condition %s is %q", c.Type, c.Message)
					}
				}
			}
		})
	}
}

// TestManyImages: the time for the event does not grow with the square of the number of images, which
// a chart chooses: that would exceed the time limit of the suite.
func TestManyImages(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	images := make([]release.ImageChange, 1_000_000)
	for i := range images {
		images[i] = release.ImageChange{From: fmt.Sprintf("a:%06d", i), To: fmt.Sprintf("b:%06d", i)}
	}
	if got := imageChanges(images, false); !strings.HasSuffix(got, "a:000004 to b:000004 and 999995 more") {
		t.Errorf("images %q", got)
	}
}
