// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get

// reasonLeftBehind is of the event that says what nobody will uninstall.
const reasonLeftBehind = "ReleaseLeftBehind"

// whereabouts finds the cluster of a release, and who touches it there.
type whereabouts struct {
	// live reads as the controller, and past caches, which do not hold the data of
	// Secrets.
	live                  client.Reader
	clusters              *cluster.Connections
	defaultServiceAccount string
	// workloads is what ConfigMaps that describe other clusters may say.
	workloads cluster.WorkloadOptions

	mu sync.Mutex
	// last is where each release was looked for last, in this process.
	last map[types.NamespacedName]place
}

// place is a cluster, for people and for comparisons.
type place struct {
	name string
	host string
}

// reach returns the way to where hr's release lives, as whoever is to act there.
// If hr and its namespace are being deleted and an object that leads there does not exist,
// there is none and never will be: unreachable then says so in one sentence. In a namespace
// that is not being deleted, the error waits for that object.
func (w *whereabouts) reach(ctx context.Context, hr *helmv2.HelmRelease) (way *cluster.Connection, unreachable string, err error) {
	deleted := !hr.DeletionTimestamp.IsZero()
	id := cluster.Identity{User: w.user(hr), Fresh: !hr.UsePersistentClient()}
	if hr.Spec.KubeConfig != nil {
		if err = w.lead(ctx, hr, &id); err == nil {
			var unknown *cluster.Unreachable
			if id, unknown = w.clusters.Locate(id, client.ObjectKeyFromObject(hr)); unknown != nil {
				return nil, "", w.noWay(hr, unknown)
			}
		}
	} else if deleted && id.User != "" {
		// The API server lets us act as somebody who does not exist, who then may do
		// nothing, for ever. A namespace that is being deleted loses its ServiceAccounts
		// while HelmReleases in it still wait.
		err = w.serviceAccount(ctx, hr)
	}
	if err == nil {
		way, err = w.connect(hr, id)
	}
	if err == nil {
		if blocked := w.blocked(hr, way); blocked != nil {
			return nil, "", blocked
		}
		return way, "", nil
	}
	w.clusters.Forget(client.ObjectKeyFromObject(hr))
	switch {
	case deleted && apierrors.IsNotFound(err):
		return w.missing(ctx, hr, err)
	case deleted:
		return nil, "", release.BlockedBy(helmv2.ReasonUninstallFailed, err, notReached)
	}
	return nil, "", release.BlockedBy(helmv2.ReasonRESTClientError, err, notReached)
}

// missing returns what reach does for hr, which is being deleted, if an object that leads
// to its release does not exist. It reads the namespace, which happens only in this case.
func (w *whereabouts) missing(ctx context.Context, hr *helmv2.HelmRelease, cause error) (way *cluster.Connection, unreachable string, err error) {
	ns := &corev1.Namespace{}
	unread := w.live.Get(ctx, client.ObjectKey{Name: hr.Namespace}, ns)
	gone := apierrors.IsNotFound(unread) || unread == nil && !ns.DeletionTimestamp.IsZero()
	if unread != nil && !gone {
		cause = fmt.Errorf("%w; Namespace '%s' could not be read: %w", cause, hr.Namespace, unread)
	}
	unreachable, blocked := release.DeletionWithout(cause, gone)
	if blocked != nil {
		return nil, "", blocked
	}
	return nil, unreachable, nil
}

const (
	// notReached begins what is said of a release whose cluster is out of reach.
	notReached = "Could not reach the cluster of the release"
	// checkedAgain is when to look again at a release that is woken long before, as
	// soon as it is known whether anybody answers in its cluster.
	checkedAgain = 30 * time.Second
)

// blocked returns what to say if nobody answers in the cluster that way leads to; hr
// is woken as soon as somebody does. The back-off only is for whatever else may
// change meanwhile, such as a kubeconfig that nobody watches.
func (w *whereabouts) blocked(hr *helmv2.HelmRelease, way *cluster.Connection) error {
	if unreachable := w.clusters.Admit(way, client.ObjectKeyFromObject(hr)); unreachable != nil {
		return w.noWay(hr, unreachable)
	}
	return nil
}

// noWay says that a cluster cannot be reached, or nothing yet.
func (w *whereabouts) noWay(hr *helmv2.HelmRelease, unreachable *cluster.Unreachable) error {
	var err error = unreachable
	if unreachable.Cloud != "" {
		err = fmt.Errorf("%s, key '%s', provider %s: %w", reference(hr), unreachable.Key, unreachable.Cloud, unreachable)
	}
	switch {
	case unreachable.Checking:
		return &release.Blocked{
			Reason: helmv2.ReasonStateError, Message: unreachable.Error(), Err: unreachable, Brief: true, Retry: release.After(checkedAgain),
		}
	case !hr.DeletionTimestamp.IsZero():
		return release.BlockedBy(helmv2.ReasonUninstallFailed, err, notReached)
	}
	return release.BlockedBy(helmv2.ReasonStateError, err, notReached)
}

// explain replaces what went wrong in a cluster where nobody answers by just that.
func (w *whereabouts) explain(hr *helmv2.HelmRelease, way *cluster.Connection, err error) error {
	if blocked := w.blocked(hr, way); blocked != nil {
		return blocked
	}
	return err
}

func (w *whereabouts) connect(hr *helmv2.HelmRelease, id cluster.Identity) (*cluster.Connection, error) {
	way, err := w.clusters.For(id)
	if err != nil && hr.Spec.KubeConfig != nil {
		return nil, fmt.Errorf("kubeconfig of %s: %w", reference(hr), err)
	}
	return way, err
}

// user returns whom to impersonate, empty for nobody.
func (w *whereabouts) user(hr *helmv2.HelmRelease) string {
	name := w.serviceAccountName(hr)
	if name == "" {
		return ""
	}
	return "system:serviceaccount:" + hr.Namespace + ":" + name
}

func (w *whereabouts) serviceAccountName(hr *helmv2.HelmRelease) string {
	if hr.Spec.ServiceAccountName != "" {
		return hr.Spec.ServiceAccountName
	}
	return w.defaultServiceAccount
}

// serviceAccount returns an error if there is none of the name that hr gives.
func (w *whereabouts) serviceAccount(ctx context.Context, hr *helmv2.HelmRelease) error {
	key := client.ObjectKey{Namespace: hr.Namespace, Name: w.serviceAccountName(hr)}
	if err := w.live.Get(ctx, key, &corev1.ServiceAccount{}); err != nil {
		return fmt.Errorf("ServiceAccount '%s': %w", key, err)
	}
	return nil
}

// kubeconfigSecret returns the Secret that hr takes a kubeconfig from, if it does.
func kubeconfigSecret(hr *helmv2.HelmRelease) (client.ObjectKey, bool) {
	if hr.Spec.KubeConfig == nil || hr.Spec.KubeConfig.SecretRef == nil {
		return client.ObjectKey{}, false
	}
	return client.ObjectKey{Namespace: hr.Namespace, Name: hr.Spec.KubeConfig.SecretRef.Name}, true
}

// workloadConfigMap returns the ConfigMap in which hr describes a cluster, if it does.
func workloadConfigMap(hr *helmv2.HelmRelease) (client.ObjectKey, bool) {
	if hr.Spec.KubeConfig == nil || hr.Spec.KubeConfig.ConfigMapRef == nil {
		return client.ObjectKey{}, false
	}
	return client.ObjectKey{Namespace: hr.Namespace, Name: hr.Spec.KubeConfig.ConfigMapRef.Name}, true
}

// reference names what leads to another cluster.
func reference(hr *helmv2.HelmRelease) string {
	if key, ok := workloadConfigMap(hr); ok {
		return fmt.Sprintf("ConfigMap '%s'", key)
	}
	key, _ := kubeconfigSecret(hr)
	return fmt.Sprintf("Secret '%s'", key)
}

// lead reads what hr refers to into id. Without an error, id leads to another cluster.
func (w *whereabouts) lead(ctx context.Context, hr *helmv2.HelmRelease, id *cluster.Identity) (err error) {
	name, ok := workloadConfigMap(hr)
	if !ok {
		id.Kubeconfig, err = w.kubeconfig(ctx, hr)
		return err
	}
	described := &corev1.ConfigMap{}
	if err = w.live.Get(ctx, name, described); err == nil {
		id.Workload, err = cluster.ParseWorkload(described.Data, hr.Namespace, w.workloads)
	}
	if err == nil {
		err = w.identify(ctx, hr, id.Workload)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", reference(hr), err)
	}
	return nil
}

// identify reads the ServiceAccount that a cloud is to know. For others it only has
// to be there, if hr is being deleted: nobody gets its tokens any more, and in a
// namespace that is being deleted nobody ever will.
func (w *whereabouts) identify(ctx context.Context, hr *helmv2.HelmRelease, to *cluster.Workload) error {
	if to.ServiceAccount.Name == "" || to.Cloud == "" && hr.DeletionTimestamp.IsZero() {
		return nil
	}
	account := &corev1.ServiceAccount{}
	if err := w.live.Get(ctx, to.ServiceAccount, account); err != nil {
		return err
	}
	if to.Cloud != "" {
		to.Annotations = account.Annotations
	}
	return nil
}

// tokens hands out tokens of ServiceAccounts.
func tokens(accounts corev1client.ServiceAccountsGetter) cluster.TokenRequester {
	return func(ctx context.Context, account types.NamespacedName, audiences []string) (string, time.Time, error) {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
		answer, err := accounts.ServiceAccounts(account.Namespace).CreateToken(ctx, account.Name, request, metav1.CreateOptions{})
		if err != nil {
			return "", time.Time{}, fmt.Errorf("ServiceAccount '%s': %w", account, err)
		}
		return answer.Status.Token, answer.Status.ExpirationTimestamp.Time, nil
	}
}

// kubeconfig reads the kubeconfig that hr refers to. It is never nil without an
// error: nil would lead to the controller's own cluster.
func (w *whereabouts) kubeconfig(ctx context.Context, hr *helmv2.HelmRelease) ([]byte, error) {
	name, ok := kubeconfigSecret(hr)
	if !ok {
		return nil, errors.New("spec.kubeConfig: neither secretRef nor configMapRef is there")
	}
	keys, what := []string{"value", "value.yaml"}, "'value' or 'value.yaml'"
	if key := hr.Spec.KubeConfig.SecretRef.Key; key != "" {
		keys, what = []string{key}, "'"+key+"'"
	}
	secret := &corev1.Secret{}
	if err := w.live.Get(ctx, name, secret); err != nil {
		return nil, fmt.Errorf("kubeconfig in key %s of Secret '%s': %w", what, name, err)
	}
	for _, key := range keys {
		if content := secret.Data[key]; len(content) > 0 {
			return content, nil
		}
	}
	return nil, fmt.Errorf("kubeconfig in key %s of Secret '%s': there is no such key, or it is empty", what, name)
}

// moved notes where hr's release was looked for and returns where it was before;
// zero if that is not known.
func (w *whereabouts) moved(hr *helmv2.HelmRelease, now place) (before place) {
	key := client.ObjectKeyFromObject(hr)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[types.NamespacedName]place{}
	}
	before, w.last[key] = w.last[key], now
	return before
}

func (w *whereabouts) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, key)
	w.clusters.Forget(key)
}

// warnOfMove makes an event if the release seems to have stayed in another
// cluster: where it was found missing, it is going to be installed anew, or not
// uninstalled. An uninstall that nobody recorded leaves the same picture, so what
// is being deleted only warns if the move was seen.
func (r *HelmReleaseReconciler) warnOfMove(hr *helmv2.HelmRelease, way *cluster.Connection, target release.Target, have release.Observed) {
	now := place{name: "the controller's own cluster", host: way.Host()}
	if hr.Spec.KubeConfig != nil {
		now.name = "the cluster of " + reference(hr)
	}
	before := r.where.moved(hr, now)
	if len(have.Revisions) > 0 || !hr.DeletionTimestamp.IsZero() && before.host == "" {
		return
	}
	if why := leftBehind(&hr.Status, target, hr.Spec.KubeConfig != nil, before, now); why != "" {
		r.events.Event(hr, corev1.EventTypeWarning, reasonLeftBehind, why)
	}
}

// leftBehind says what stays behind where nobody will look for it any more, if
// the release that status recorded is not stored at target in the cluster now.
// Status has no room for the cluster that it was recorded in: before knows, but
// not after a restart, and then only a kubeconfig makes another cluster likely.
func leftBehind(status *helmv2.HelmReleaseStatus, target release.Target, remote bool, before, now place) string {
	last := release.Latest(status.History)
	if last == nil || last.Status == helmv2.StatusUninstalled || before.host == now.host ||
		last.Name != target.Name || last.Namespace != target.Namespace || status.StorageNamespace != target.StorageNamespace {
		return ""
	}
	what := fmt.Sprintf("Helm release %s/%s.v%d", last.Namespace, last.Name, last.Version)
	switch {
	case before.name == now.name:
		return fmt.Sprintf("%s stays behind and will not be uninstalled: %s is not the one it was", what, now.name)
	case before.name != "":
		return fmt.Sprintf("%s stays behind in %s and will not be uninstalled: its HelmRelease leads to %s now", what, before.name, now.name)
	case remote:
		return fmt.Sprintf("%s is not in %s: if it was installed in another cluster, it stays behind there and will not be uninstalled", what, now.name)
	}
	return ""
}
