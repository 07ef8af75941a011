//! What reaches into a session from outside, made of the settings.

use crate::error::Error;
use crate::models::usable_catalog;
use agent_settings::AppSettings;

/// Returns the environment variables that hold keys, as the settings name them.
pub(crate) fn secret_variables(settings: &AppSettings) -> Result<Vec<String>, Error> {
    let catalog = usable_catalog(settings)?;
    let mut variables = session_tools::rights::secret_variables(&catalog);
    variables.extend(settings.compaction.session.remote_token_env.clone());
    Ok(variables)
}
