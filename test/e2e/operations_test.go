// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	helmchart "helm.sh/helm/v3/pkg/chart"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// nextcloudHook is the hook of the Job in the documentation's example.
const nextcloudHook = `apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-pre-upgrade
  annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}
spec:
  template:
    metadata:
      annotations: {simulate.pintle.dev/delay: {{ .Values.delay }}}
    spec:
      serviceAccountName: {{ .Release.Name }}
      restartPolicy: Never
      containers:
      - name: pre-upgrade
        image: nextcloud:29.0.4-fpm
        command: ["/bin/sh", "-c"]
        args:
        - php occ maintenance:repair --include-expensive
        env:
        - { name: NEXTCLOUD_ADMIN_USER, valueFrom: { secretKeyRef: { name: {{ .Release.Name }}, key: admin-user } } }
        - { name: NEXTCLOUD_ADMIN_PASSWORD, valueFrom: { secretKeyRef: { name: {{ .Release.Name }}, key: admin-password } } }
        volumeMounts:
        - { name: nextcloud-data, mountPath: /var/www/html }
      volumes:
      - name: nextcloud-data
        persistentVolumeClaim:
          claimName: data-{{ .Release.Name }}
`

const nextcloudObjects = `apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ .Release.Name }}}
---
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}}
stringData: {admin-user: admin, admin-password: hunter22}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-{{ .Release.Name }}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// simpleHook is a hook with an annotation of its Pods, which sets their simulated behavior.
const simpleHook = `apiVersion: batch/v1
kind: Job
metadata: {name: %s, annotations: {helm.sh/hook: %s}}
spec: {template: {metadata: {annotations: {%s}}, spec: {restartPolicy: Never, containers: [{name: main, image: example.com/a:1}]}}}
`

// nextcloud is a release with these hooks that belongs to an ApplicationInstance.
func (w world) nextcloud(changes ...func(*helmv2.HelmReleaseSpec)) *helmv2.HelmRelease {
	w.Helper()
	owner := w.ApplicationInstance("nextcloud-myteam")
	c := &helmchart.Chart{
		Metadata: &helmchart.Metadata{APIVersion: "v2", Name: "nextcloud", Version: "5.0.0"},
		Values:   map[string]any{"delay": "10s"},
		Templates: []*helmchart.File{
			{Name: "templates/objects.yaml", Data: []byte(nextcloudObjects)},
			{Name: "templates/hook.yaml", Data: []byte(nextcloudHook)},
			{Name: "templates/fails.yaml", Data: fmt.Appendf(nil, simpleHook, "fails", "pre-rollback", `simulate.pintle.dev/exit-code: "3", simulate.pintle.dev/delay: "5s"`)},
			{Name: "templates/hangs.yaml", Data: fmt.Appendf(nil, simpleHook, "hangs", "pre-rollback", `simulate.pintle.dev/hang: "true"`)},
			{Name: "templates/slow.yaml", Data: fmt.Appendf(nil, simpleHook, "slow", "pre-rollback", `simulate.pintle.dev/delay: "700ms"`)},
			{Name: "templates/before.yaml", Data: fmt.Appendf(nil, simpleHook, "before", "pre-install", "")},
		},
	}
	w.Publish(c)
	w.Source("nextcloud", env.Registry.Address, "nextcloud", sourcev1.OCIRepositoryRef{Tag: "5.0.0"})
	hr := w.Draft("nextcloud-myteam", fixture.ChartRef(helmv2.KindOCIRepository, "nextcloud"), nil)
	hr.OwnerReferences = []metav1.OwnerReference{owner}
	hr.Spec.Install = &helmv2.Install{DisableWait: true}
	for _, change := range changes {
		change(&hr.Spec)
	}
	w.Create(hr)
	w.UntilRevision(hr, 1)
	return hr
}

// operate creates the documented Operation with textual changes.
func (w world) operate(changes ...string) *opsv1alpha1.Operation {
	w.Helper()
	text := strings.NewReplacer(append([]string{"org-myteam", w.Namespace}, changes...)...).Replace(harness.DocumentedOperation)
	o := &unstructured.Unstructured{}
	w.Must(yaml.Unmarshal([]byte(text), &o.Object))
	return w.CreateOperation(o)
}

func (w world) untilPhase(op *opsv1alpha1.Operation, phase opsv1alpha1.OperationPhase) {
	w.Helper()
	w.UntilOperation(op, "to be "+string(phase), func(op *opsv1alpha1.Operation) bool { return op.Status.Phase == phase })
}

func (w world) checkOperation(op *opsv1alpha1.Operation, kind string, status metav1.ConditionStatus, reason string) {
	w.Helper()
	c := apimeta.FindStatusCondition(op.Status.Conditions, kind)
	if c == nil || c.Status != status || c.Reason != reason {
		w.Errorf("%s is %+v, want %s/%s", kind, c, status, reason)
	}
}

// operationJobs returns the Jobs of an Operation, in any namespace.
func (w world) operationJobs(op *opsv1alpha1.Operation) []batchv1.Job {
	w.Helper()
	var list batchv1.JobList
	w.Must(env.Client.List(w.Context(), &list, client.MatchingLabels{opsv1alpha1.LabelOperation: string(op.UID)}))
	return list.Items
}

// operationsThere skips a test if the suite does not use this project's CRDs.
func operationsThere(t *testing.T) {
	t.Helper()
	if os.Getenv("PINTLE_CRDS") != "" {
		t.Skip("Operations are not a part of the definitions in PINTLE_CRDS")
	}
}

// operationLayouts are the places of a release, by name: changes of its HelmRelease. The other
// cluster is the same one by a kubeconfig.
func operationLayouts() map[string]func(world, *helmv2.HelmReleaseSpec) {
	elsewhere := func(w world, spec *helmv2.HelmReleaseSpec) {
		there := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-there"}}
		w.Must(env.Client.Create(w.Context(), there))
		spec.TargetNamespace, spec.ReleaseName = there.Name, "nextcloud-myteam"
	}
	return map[string]func(world, *helmv2.HelmReleaseSpec){
		"own namespace":   func(world, *helmv2.HelmReleaseSpec) {},
		"other namespace": elsewhere,
		"other cluster": func(w world, spec *helmv2.HelmReleaseSpec) {
			raw, err := os.ReadFile(env.Kubeconfig)
			w.Must(err)
			w.Create(&corev1.Secret{ObjectMeta: w.Meta("far"), Data: map[string][]byte{"value": raw}})
			elsewhere(w, spec)
			spec.KubeConfig = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: "far"}}
		},
	}
}

// TestOperationDocument: the example of the engine's documentation works at each place of a release,
// and each row of its table of statuses is true.
func TestOperationDocument(t *testing.T) {
	t.Parallel()
	operationsThere(t)
	for name, layout := range operationLayouts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			hr := w.nextcloud(func(spec *helmv2.HelmReleaseSpec) { layout(w, spec) })
			w.isAsDocumented(t, hr, name == "own namespace")
		})
	}
}

// isAsDocumented checks the example and the table. Operations own the Jobs in their namespace.
func (w world) isAsDocumented(t *testing.T, hr *helmv2.HelmRelease, owned bool) {
	t.Helper()
	t.Run("Job running, then complete", func(t *testing.T) {
		w := world{w.In(t)}
		op := w.operate()
		w.untilPhase(op, opsv1alpha1.PhaseRunning)
		w.checkOperation(op, opsv1alpha1.ConditionRunning, yes, opsv1alpha1.ReasonHelmHookJobActive)
		w.documentedJob(op, nil, owned)
		w.untilPhase(op, opsv1alpha1.PhaseSucceeded)
		w.checkOperation(op, opsv1alpha1.ConditionSucceeded, yes, opsv1alpha1.ReasonHelmHookJobSucceeded)
		if o := op.Status.Outputs; o.CompletionTime == nil || o.LogsRef == nil || o.LogsRef.Kind != "Pod" || o.ExitCode == nil || *o.ExitCode != 0 {
			t.Errorf("outputs are %+v", o)
		}
		ttl := opsv1alpha1.DefaultTTLSeconds
		w.Must(env.Until(w.Context(), "the Job to expire", func() (string, bool) {
			jobs := w.operationJobs(op)
			return fmt.Sprint(len(jobs), " Jobs"), len(jobs) == 1 && jobs[0].Spec.TTLSecondsAfterFinished != nil
		}))
		w.documentedJob(op, &ttl, owned)
		w.Get(hr.Name, hr)
		if hr.Annotations[opsv1alpha1.AnnotationHolder] != "" {
			t.Error("the release is still held")
		}
		if owned {
			w.UntilOperation(op, "to be tidied up", func(op *opsv1alpha1.Operation) bool { return len(op.Finalizers) == 0 })
			return
		}
		w.Must(env.Client.Delete(w.Context(), op))
		w.Must(env.Until(w.Context(), "the Job to go with its Operation", func() (string, bool) {
			n := len(w.operationJobs(op))
			return fmt.Sprint(n, " Jobs"), n == 0
		}))
	})
	if testing.Short() {
		return
	}
	t.Run("Hook not present", func(t *testing.T) {
		w := world{w.In(t)}
		op := w.operate("nextcloud-myteam-pre-upgrade-2026-05-28", "absent", "nextcloud-myteam-pre-upgrade\n", "nextcloud-post-upgrade\n")
		w.untilPhase(op, opsv1alpha1.PhaseFailed)
		w.checkOperation(op, opsv1alpha1.ConditionAccepted, no, opsv1alpha1.ReasonHookNotFound)
		w.checkOperation(op, opsv1alpha1.ConditionBlocked, yes, opsv1alpha1.ReasonHookNotFound)
		if len(op.Status.Hooks) != 5 || len(w.operationJobs(op)) != 0 {
			t.Errorf("hooks are %+v, and Jobs %+v", op.Status.Hooks, w.operationJobs(op))
		}
	})
	t.Run("Job failed, backoff exhausted", func(t *testing.T) {
		w := world{w.In(t)}
		op := w.operate("nextcloud-myteam-pre-upgrade-2026-05-28", "failed", "nextcloud-myteam-pre-upgrade\n", "fails\n", "backoffLimit: 1", "backoffLimit: 0")
		w.untilPhase(op, opsv1alpha1.PhaseFailed)
		w.checkOperation(op, opsv1alpha1.ConditionFailed, yes, opsv1alpha1.ReasonHelmHookJobFailed)
		c := apimeta.FindStatusCondition(op.Status.Conditions, opsv1alpha1.ConditionFailed)
		code := op.Status.Outputs.ExitCode
		if c == nil || !strings.Contains(c.Message, "exit code 3") || code == nil || *code != 3 {
			t.Errorf("status is %+v", op.Status)
		}
	})
	t.Run("Job failed, deadline", func(t *testing.T) {
		w := world{w.In(t)}
		op := w.operate("nextcloud-myteam-pre-upgrade-2026-05-28", "late", "nextcloud-myteam-pre-upgrade\n", "hangs\n", "1800", "5")
		w.untilPhase(op, opsv1alpha1.PhaseFailed)
		w.checkOperation(op, opsv1alpha1.ConditionFailed, yes, opsv1alpha1.ReasonHelmHookJobFailed)
		if op.Status.Outputs.Reason != opsv1alpha1.ResultDeadlineExceeded {
			t.Errorf("outputs are %+v", op.Status.Outputs)
		}
	})
	t.Run("Release does not exist", func(t *testing.T) {
		w := world{w.In(t)}
		none := w.Draft("nothing", fixture.ChartRef(helmv2.KindOCIRepository, "nextcloud"), nil)
		none.Spec.Suspend = true
		w.Create(none)
		op := w.operate("nextcloud-myteam-pre-upgrade-2026-05-28", "early", "name: nextcloud-myteam\n", "name: nothing\n", "nextcloud-myteam-pre-upgrade\n", "before\n")
		w.untilPhase(op, opsv1alpha1.PhaseFailed)
		w.checkOperation(op, opsv1alpha1.ConditionAccepted, no, opsv1alpha1.ReasonHookRequiresRelease)
		if jobs := w.operationJobs(op); len(jobs) != 0 {
			t.Errorf("there is a Job: %+v", jobs[0].ObjectMeta)
		}
	})
}

// documentedJob compares the Job of an Operation with the one in the document, but
// for its name.
func (w world) documentedJob(op *opsv1alpha1.Operation, ttl *int32, owned bool) {
	w.Helper()
	jobs := w.operationJobs(op)
	if len(jobs) != 1 {
		w.Fatalf("there are %d Jobs", len(jobs))
	}
	job := jobs[0]
	for label, want := range map[string]string{
		opsv1alpha1.LabelManagedBy: opsv1alpha1.ManagedBy, opsv1alpha1.LabelOperation: string(op.UID),
		opsv1alpha1.LabelSourceHook: "nextcloud-myteam-pre-upgrade",
	} {
		w.equal("label "+label, job.Labels[label], want)
	}
	w.equal("the pods' label", job.Spec.Template.Labels[opsv1alpha1.LabelOperation], string(op.UID))
	if owned {
		w.equal("the owner", job.OwnerReferences, []metav1.OwnerReference{{
			APIVersion: opsv1alpha1.GroupVersion.String(), Kind: opsv1alpha1.OperationKind, Name: op.Name, UID: op.UID,
			Controller: ptr(true), BlockOwnerDeletion: ptr(true),
		}})
	} else {
		w.equal("the owners", len(job.OwnerReferences), 0)
		w.equal("the Operation", job.Annotations[opsv1alpha1.AnnotationOperation], op.Namespace+"/"+op.Name)
	}
	spec := job.Spec
	w.equal("backoffLimit", *spec.BackoffLimit, int32(1))
	w.equal("activeDeadlineSeconds", *spec.ActiveDeadlineSeconds, int64(1800))
	w.equal("ttlSecondsAfterFinished", spec.TTLSecondsAfterFinished, ttl)
	pod := spec.Template.Spec
	w.equal("serviceAccountName", pod.ServiceAccountName, "nextcloud-myteam")
	w.equal("restartPolicy", pod.RestartPolicy, corev1.RestartPolicyNever)
	secret := func(key string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "nextcloud-myteam"}, Key: key}}
	}
	got := pod.Containers[0]
	w.equal("the container", []any{got.Name, got.Image, got.Command, got.Args, got.VolumeMounts}, []any{
		"pre-upgrade", "nextcloud:29.0.4-fpm",
		[]string{"/bin/sh", "-c"},
		[]string{"php occ maintenance:repair --include-expensive"},
		[]corev1.VolumeMount{{Name: "nextcloud-data", MountPath: "/var/www/html"}},
	})
	if want := []corev1.EnvVar{
		{Name: "NEXTCLOUD_ADMIN_USER", ValueFrom: secret("admin-user")}, {Name: "NEXTCLOUD_ADMIN_PASSWORD", ValueFrom: secret("admin-password")},
	}; !reflect.DeepEqual(got.Env, want) {
		w.Errorf("the environment is %+v", got.Env)
	}
	w.equal("the volume", pod.Volumes[0].PersistentVolumeClaim.ClaimName, "data-nextcloud-myteam")
}

// createdJobs are the UIDs of the Jobs that were ever made for each Operation, and
// of those that could run.
type createdJobs struct {
	mu        sync.Mutex
	made, ran map[string]map[string]bool
}

// countJobs watches a namespace until the test ends.
func (w world) countJobs(namespace string) *createdJobs {
	w.Helper()
	c := &createdJobs{made: map[string]map[string]bool{}, ran: map[string]map[string]bool{}}
	w.watchJobs(namespace, c.saw, client.HasLabels{opsv1alpha1.LabelOperation})
	return c
}

// watchJobs calls saw with each state of all Jobs of a namespace until the test ends, one call at a
// time. No Job is missed.
func (w world) watchJobs(namespace string, saw func(*batchv1.Job), selectors ...client.ListOption) {
	w.Helper()
	watchAll(w, namespace, &batchv1.JobList{}, saw, selectors...)
}

// watchAll calls saw with each later state of the objects of a kind in a namespace until the test ends, one
// call at a time. None is missed. list is an empty list of the kind.
func watchAll[T client.Object](w world, namespace string, list client.ObjectList, saw func(T), selectors ...client.ListOption) {
	w.Helper()
	w.Must(env.Client.List(w.Context(), list, client.InNamespace(namespace)))
	version, ended := list.GetResourceVersion(), make(chan struct{})
	go func() {
		defer close(ended)
		// A watch ends with the time that any request may take.
		for w.Context().Err() == nil {
			options := append([]client.ListOption{
				client.InNamespace(namespace), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}},
			}, selectors...)
			events, err := env.Client.Watch(w.Context(), list, options...)
			if err != nil {
				continue
			}
			for e := range events.ResultChan() {
				if o, ok := e.Object.(T); ok && e.Type != watch.Error {
					version = o.GetResourceVersion()
					saw(o)
				}
			}
		}
	}()
	w.Cleanup(func() { <-ended })
}

func (c *createdJobs) saw(job *batchv1.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := job.Labels[opsv1alpha1.LabelOperation]
	if c.made[by] == nil {
		c.made[by], c.ran[by] = map[string]bool{}, map[string]bool{}
	}
	c.made[by][string(job.UID)] = true
	if job.Spec.Suspend == nil || !*job.Spec.Suspend {
		c.ran[by][string(job.UID)] = true
	}
}

func (c *createdJobs) of(op *opsv1alpha1.Operation) (made, ran int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.made[string(op.UID)]), len(c.ran[string(op.UID)])
}

// TestOperationSurvivesKill: after a kill in any part of an Operation's duration, exactly one Job
// has run at the place of the release, its result is recorded, and nothing is left after the
// Operation is deleted.
func TestOperationSurvivesKill(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	operationsThere(t)
	moments := killMoments(t)
	for name, layout := range operationLayouts() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			hr := w.nextcloud(func(spec *helmv2.HelmReleaseSpec) { layout(w, spec) })
			w.survivesKills(hr, moments)
		})
	}
}

// survivesKills kills the controller at moments of Operations, each a part of its duration.
func (w world) survivesKills(hr *helmv2.HelmRelease, moments []float64) {
	w.Helper()
	// An Operation beside its Job is finished with it. Any other keeps its finalizer until it is deleted.
	beside := hr.GetReleaseNamespace() == w.Namespace
	jobs := w.countJobs(hr.GetReleaseNamespace())

	// The duration without a kill. A simulated node does not serve logs, so the Operation ends by
	// waiting for them. That part is excluded.
	var ended, waited, undisturbed time.Duration
	for i := range len(moments) + 1 {
		began := time.Now()
		op := w.operate("nextcloud-myteam-pre-upgrade-2026-05-28", fmt.Sprintf("kill-%d", i), "nextcloud-myteam-pre-upgrade\n", "slow\n")
		hit := "nothing"
		if i > 0 {
			at := time.Duration(moments[i-1] * float64(undisturbed-waited))
			if at > ended {
				at += waited
			}
			time.Sleep(at)
			w.Must(env.Controller.Kill(w.Context()))
			w.Get(op.Name, op)
			hit = string(op.Status.Phase)
			w.Must(env.Controller.Start())
		}
		w.UntilOperation(op, "to record the result of its Job", func(op *opsv1alpha1.Operation) bool {
			return op.Status.Outputs != nil && op.Status.Outputs.ExitCode != nil
		})
		if i == 0 {
			ended = time.Since(began)
		}
		w.untilPhase(op, opsv1alpha1.PhaseSucceeded)
		if i == 0 {
			waited = time.Since(began) - ended
		}
		w.UntilOperation(op, "to be tidied up", func(op *opsv1alpha1.Operation) bool {
			return !beside && op.Status.Outputs.CompletionTime != nil || len(op.Finalizers) == 0
		})
		if i == 0 {
			undisturbed = time.Since(began)
		}
		m, r := jobs.of(op)
		if m != 1 || r != 1 || len(op.Status.Outputs.Jobs) != 1 {
			w.Errorf("kill %d: %d Jobs were made, %d ran, and recorded are %+v", i, m, r, op.Status.Outputs.Jobs)
		}
		w.Must(env.Client.Delete(w.Context(), op))
		if i%2 == 1 {
			w.Must(env.Controller.Kill(w.Context()))
			w.Must(env.Controller.Start())
		}
		w.Must(env.Until(w.Context(), "the Operation and its Job to go", func() (string, bool) {
			err := env.Client.Get(w.Context(), client.ObjectKeyFromObject(op), &opsv1alpha1.Operation{})
			n := len(w.operationJobs(op))
			return fmt.Sprint(n, " Jobs, ", err), n == 0 && apierrors.IsNotFound(err)
		}))
		w.Logf("kill %2d hit phase %q; done after %.1fs", i, hit, time.Since(began).Seconds())
	}
	w.Get(hr.Name, hr)
	if hr.Annotations[opsv1alpha1.AnnotationHolder] != "" {
		w.Error("the release is still held")
	}
}
