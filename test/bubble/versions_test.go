// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// recordVersion makes TestRecordVersion write what this version stores. docs/releasing.md says when.
var recordVersion = flag.String("record", "", "write testdata/versions/`VERSION`: the objects that this version of the controller leaves")

// updatedAfter is when the next version starts, after the world of the version before began.
const updatedAfter = 2 * time.Hour

const versionsFolder = "testdata/versions"

// leaveObjects plays a day in the life of a version, and ends while it is down:
//
//	app          upgraded, and forced to by a request
//	held         rolled back to revision 1, and held there
//	suspended    suspended by annotation, with a change that waits
//	stalled      its upgrade has failed, without retries
//	waiting      its plan waits for approval
//	approved     its plan was approved while no controller ran
//	interrupted  the process has died in its upgrade
func (w *world) leaveObjects() {
	w.Helper()
	stop := w.start()
	w.publish("app", "1.0.0", w.note("1.0.0"))
	w.policy("production", v1alpha1.ReleasePolicySpec{
		Approval: v1alpha1.ApprovalAlways, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "production"}},
	})
	all := map[string]*helmv2.HelmRelease{}
	for _, name := range []string{"app", "held", "suspended", "stalled", "waiting", "approved", "interrupted"} {
		all[name] = w.release(name, "one", func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "app" })
	}
	for _, hr := range all {
		w.untilReady(hr)
	}
	for _, name := range []string{"app", "held"} {
		w.says(all[name], "two")
		w.untilReady(all[name])
	}
	w.ask(all["app"], "again", helmv2.AnnotationForceRequest)
	edit(w, all["held"], func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{
			helmv2.AnnotationRollbackTo: "1", helmv2.AnnotationRollbackUntil: w.began.Add(1000 * time.Hour).Format(time.RFC3339),
		}
	})
	w.untilCondition(all["held"], helmv2.ConditionRolledBack, metav1.ConditionTrue, helmv2.ReasonRolledBack)
	w.annotate(all["suspended"], helmv2.AnnotationSuspend, "incident 42")
	w.untilCondition(all["suspended"], helmv2.ConditionSuspended, metav1.ConditionTrue, helmv2.ReasonSuspended)
	w.says(all["suspended"], "two")
	for _, name := range []string{"waiting", "approved"} {
		edit(w, all[name], func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{"tier": "production"} })
		w.says(all[name], "two")
		w.untilHeld(all[name], helmv2.ReasonAwaitingApproval)
	}
	w.refuses("stalled")
	w.says(all["stalled"], "two")
	w.untilCondition(all["stalled"], helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonRetriesExceeded)
	time.Sleep(time.Until(w.began.Add(updatedAfter - time.Hour)))
	isDead := w.dies(func(req *http.Request) bool { return applies(req, "interrupted") })
	w.says(all["interrupted"], "two")
	w.until("the death", isDead)
	stop()
	w.up()
	w.approve("approved")
}

// approve approves the plan of a release.
func (w *world) approve(name string) {
	w.Helper()
	plan := &v1alpha1.ReleasePlan{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	edit(w, plan, func(p *v1alpha1.ReleasePlan) {
		p.Spec = v1alpha1.ReleasePlanSpec{Approved: p.Status.Digest, ApprovedBy: "editor"}
	})
}

// TestRecordVersion writes the objects and artifacts of a version.
func TestRecordVersion(t *testing.T) {
	if *recordVersion == "" {
		t.Skip("-record is not set")
	}
	inBubble(t, func(w *world) {
		w.leaveObjects()
		folder := filepath.Join(versionsFolder, *recordVersion)
		w.must(os.MkdirAll(folder, 0o755))
		for url, archive := range w.artifacts {
			w.must(os.WriteFile(filepath.Join(folder, path.Base(url)), archive, 0o600))
		}
		w.api.Mu.Lock()
		defer w.api.Mu.Unlock()
		objects := map[string]map[string]any{}
		for path, object := range w.api.Objects {
			if !strings.Contains(path, "/events/") && !strings.Contains(path, "/leases/") {
				objects[path] = object
			}
		}
		text, err := yaml.Marshal(objects)
		w.must(err)
		w.must(os.WriteFile(filepath.Join(folder, "objects.yaml"), text, 0o600))
	})
}

// restoreObjects puts the objects and artifacts of a version into an empty world, at the time of the
// update.
func (w *world) restoreObjects(folder string) {
	w.Helper()
	time.Sleep(time.Until(w.began.Add(updatedAfter)))
	archives, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	w.must(err)
	for _, name := range archives {
		content, err := os.ReadFile(name)
		w.must(err)
		w.artifacts["http://artifacts/"+filepath.Base(name)] = content
	}
	text, err := os.ReadFile(filepath.Join(folder, "objects.yaml"))
	w.must(err)
	text, err = yaml.YAMLToJSON(text)
	w.must(err)
	var objects map[string]json.RawMessage
	w.must(json.Unmarshal(text, &objects))
	w.api.Mu.Lock()
	defer w.api.Mu.Unlock()
	for path, raw := range objects {
		object := &unstructured.Unstructured{}
		w.must(object.UnmarshalJSON(raw))
		// The server sets 1 for a new object.
		generation := object.GetGeneration()
		w.api.Store(path, object.Object)
		object.SetGeneration(generation)
	}
}

// stored is what an update of the controller must not change: the records of a release, its history,
// the condition Ready, its ConfigMap, and the digest of its plan.
type stored struct {
	Records map[string]corev1.Secret
	History helmv2.Snapshots
	Ready   metav1.Condition
	Message string
	Plan    string
}

// storedOf reads what is stored for a release. The message of Ready, whose words differ between
// versions, the time of its last change, and the fields that the server sets are left out.
func (w *world) storedOf(name string) stored {
	w.Helper()
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	w.read(hr)
	s := stored{Records: map[string]corev1.Secret{}, History: hr.Status.History, Ready: condition(hr, helmv2.ConditionReady), Message: w.message(name)}
	s.Ready.Message, s.Ready.LastTransitionTime = "", metav1.Time{}
	var secrets corev1.SecretList
	w.must(w.client.List(w.Context(), &secrets, client.InNamespace(namespace), client.MatchingLabels{"owner": "helm", "name": name}))
	for _, secret := range secrets.Items {
		secret.ManagedFields, secret.ResourceVersion = nil, ""
		s.Records[secret.Name] = secret
	}
	plan := &v1alpha1.ReleasePlan{}
	if w.client.Get(w.Context(), client.ObjectKeyFromObject(hr), plan) == nil {
		s.Plan = plan.Status.Digest
	}
	return s
}

// TestUpdate: a version of the controller starts with what an earlier one has left. It upgrades
// nothing, keeps history, holds, suspensions and failures, applies a plan that was approved before, and
// resumes an interrupted upgrade. Then all releases go on.
func TestUpdate(t *testing.T) {
	versions, err := filepath.Glob(versionsFolder + "/v*")
	if err != nil || len(versions) == 0 {
		t.Fatalf("versions %v: %v", versions, err)
	}
	for _, folder := range versions {
		t.Run(filepath.Base(folder), func(t *testing.T) { inBubble(t, func(w *world) { w.update(folder) }) })
	}
}

func (w *world) update(folder string) {
	w.restoreObjects(folder)
	release := func(name string) *helmv2.HelmRelease {
		return &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	rest := []string{"app", "held", "suspended", "stalled", "waiting"}
	before := map[string]stored{}
	for _, name := range rest {
		before[name] = w.storedOf(name)
	}
	w.start()
	// The hour of the interval, three times.
	time.Sleep(3*time.Hour + time.Minute)
	for _, name := range rest {
		if diff := cmp.Diff(before[name], w.storedOf(name)); diff != "" {
			w.Errorf("the update changes %s (-before +after):\n%s", name, diff)
		}
	}
	for _, name := range []string{"approved", "interrupted"} {
		hr := release(name)
		w.read(hr)
		if ready := condition(hr, helmv2.ConditionReady); w.message(name) != "two" || newest(hr) != 2 || ready.Status != metav1.ConditionTrue || hr.Status.Failures > 0 {
			w.Errorf("%s says %q in revision %d: %+v", name, w.message(name), newest(hr), hr.Status)
		}
	}
	if by := w.storedOf("approved").Records["sh.helm.release.v1.approved.v2"].Annotations[v1alpha1.AnnotationApprovedBy]; by != "editor" {
		w.Errorf("the record says that %q has approved it", by)
	}

	w.says(release("app"), "three")
	edit(w, release("held"), func(hr *helmv2.HelmRelease) { hr.Annotations = nil })
	w.annotate(release("suspended"), helmv2.AnnotationSuspend, "")
	w.annotate(release("stalled"), helmv2.AnnotationResetRequest, "reset")
	w.annotate(release("stalled"), helmv2.AnnotationReconcileRequest, "reset")
	w.approve("waiting")
	for _, name := range rest {
		hr := release(name)
		w.untilMessage(name, map[bool]string{true: "three", false: "two"}[name == "app"])
		w.untilReady(hr)
		if want := slices.Max(append(versionsOf(before[name].History), 0)) + 1; newest(hr) != want {
			w.Errorf("%s has revision %d, want %d", name, newest(hr), want)
		}
	}
}

func versionsOf(history helmv2.Snapshots) (all []int) {
	for _, s := range history {
		all = append(all, s.Version)
	}
	return all
}
